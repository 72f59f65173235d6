"""The fields of a record, as JSON gives them back. records.py reads and writes records."""

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

JsonObject = Mapping[str, Any]  # a config, an encoding's arguments, …
# Digest of a plugin's file by family and name, as in "encodings/rope". None: it has no file.
Sources = Mapping[str, str | None]


class RecordRow(TypedDict):
    """One measurement.

    Attributes:
      override: the evaluation override; None: the run was evaluated as it was trained.
      value: a number, or a list of numbers for `first_error`; None with a `reason`. With an
        attribute, it is a list of [value of the attribute, examples, successes].
      count: number of examples.
      sources: digests that differ from the provenance; None if there are none.
      attribute: of examples, by which exact match was measured. Other rows do not have the key.
      attribute_label: the attribute in words, as its task declares it.
    """

    split: str
    length: int
    offset: int
    override: JsonObject | None
    metric: str
    value: Any
    count: int
    reason: str | None
    sources: Sources | None
    attribute: NotRequired[str]
    attribute_label: NotRequired[str]


class ChanceLevel(TypedDict):
    """The scores at one length of a predictor that does not see the prompt."""

    length: int
    token_accuracy: float
    exact_match: float
    count: int


class CurvePoint(TypedDict):
    """One point of the curve of a run.

    Attributes:
      loss: mean over the steps since the point before; None before training.
      exact_match: by length; JSON has text keys only.
      validation_loss: of a text, in nats, by length. Older records do not have it.
      scale_ratio: one value for each input encoding.
    """

    step: int
    loss: float | None
    exact_match: dict[str, float]
    validation_loss: NotRequired[dict[str, float | None]]
    scale_ratio: list[float | None]


class MemberSettings(TypedDict):
    """The settings that the members of a run group do not share."""

    seed: int
    data_seed: int
    learning_rate: float
    weight_decay: float
    init_from: str | None  # the run id of the parent


class CostOfRun(TypedDict):
    """The cost of a run: its share of the seconds of its run group.

    Attributes:
      members: runs of the group.
      memory: bytes of the group's state and temporary values; None if the compiler does not count.
    """

    steps: int
    train_seconds: float
    compile_seconds: float
    steps_per_second: float | None
    train_flops: int
    parameters: int
    members: int
    memory: dict[str, int] | None


class CorpusSizes(TypedDict):
    """Sizes of a text, in records of language_model; older ones have none.

    Attributes:
      corpus_bytes, corpus_tokens: of each split, for a text of bytes or of tokens.
      bytes_per_token: of each split, where it is known.
    """

    corpus_bytes: NotRequired[dict[str, int]]
    corpus_tokens: NotRequired[dict[str, int]]
    bytes_per_token: NotRequired[Mapping[str, float]]


class Exposure(CorpusSizes):
    """The lengths, positions and steps that training has seen.

    Attributes:
      num_tokens: of the longest sequence of an example, by length: the training length and the test
        lengths of the config. Older records do not have it.
      max_position: the largest position that training showed to an encoding, without a shift that
        the encoding cannot notice (pe_lab/training/exposure.py); None if none reads positions.
      max_test_position: the largest position of a test at offset 0, by the same lengths. Older
        records, and records of encodings that read no positions, do not have it.
      seen_offsets: the largest offset of a test whose positions training showed, by the test
        lengths beyond training; None where training did not show them without an offset either.
        Older records do not have it.
    """

    steps: int
    max_length: int
    length_name: str
    num_tokens: NotRequired[dict[str, int]]
    max_position: int | float | None
    max_test_position: NotRequired[dict[str, int | float]]
    seen_offsets: NotRequired[dict[str, int | float | None]]
    reveals_target_length: bool
    solved_threshold: float


class ScaleRatio(TypedDict):
    """Scales of the input encodings relative to the token embedding's."""

    initial: list[float | None]
    final: list[float | None]


class CheckpointOfRun(TypedDict):
    """The place of the final parameters."""

    run_group: str
    step: int
    member: int


class Provenance(TypedDict):
    """Code, versions and device, on which numbers depend in addition to the config.

    They are those of the start of the training.

    Attributes:
      commit: of pe_lab's checkout; None: unknown, as for an installed package.
      dirty: the code differed from the commit; None: unknown.
      code: a hash of the files of pe_lab. Older records do not have it.
      jax_settings: settings of JAX and variables of XLA on which numbers depend (jax_settings.py).
        Older records do not have it.
      data: sha256 of the task's data; None for a task that draws from keys alone.
      corpus: the name of the task's text, with the hash of its content; None for a task without
        text. Older records do not have it.
      started: the time at which the training started, in UTC. Older and failed records, and
        trainings whose checkpoint is older, do not have it.
      resumed: the other values of the processes that resumed the training, each with its step and
        time. Trainings without such a process do not have it.
      evaluated: as `resumed`, of the processes that added rows after the training.
    """

    commit: str | None
    dirty: bool | None
    code: NotRequired[str]
    python: str
    versions: dict[str, str]
    device: str
    execution: JsonObject
    sources: Sources
    jax_settings: NotRequired[JsonObject]
    data: str | None
    corpus: NotRequired[str | None]
    started: NotRequired[str]
    resumed: NotRequired[list[JsonObject]]
    evaluated: NotRequired[list[JsonObject]]


class Record(TypedDict):
    """The record of a run.

    Attributes:
      digest: sha256 of everything else.
      config: all settings, with defaults.
      status: "finished", "diverged" or "failed"; a failed run has an error and no measurement.
    """

    schema_version: int
    digest: str
    run_id: str
    config: JsonObject
    member: MemberSettings
    status: str
    error: str | None
    rows: list[RecordRow]
    chance_levels: list[ChanceLevel]
    curve: list[CurvePoint]
    cost: CostOfRun | None
    exposure: Exposure | None
    scale_ratio: ScaleRatio | None
    checkpoint: CheckpointOfRun | None
    provenance: Provenance
