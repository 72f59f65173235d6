"""The findings of a run's inspection: computed facts, without pictures or text.

Rows are flat, so that they can be read as tables. Layers and heads count from 1.
"""

import dataclasses

from pe_lab.contrib.inspection.trained.input_embeddings import InputParts
from pe_lab.contrib.inspection.trained.observations import FirstExample
from pe_lab.runs.records.record_schema import JsonObject

BEFORE, DURING, AFTER = "before training", "during training", "after training"


@dataclasses.dataclass(frozen=True)
class State:
    """Parameters of a run at one point of training, and the length of the examples.

    Attributes:
      when: BEFORE, DURING or AFTER.
      step: steps trained.
    """

    when: str
    step: int
    length: int


@dataclasses.dataclass(frozen=True)
class HeadTerms:
    """Shares of the four terms in the logits of one head; None where its logits do not differ."""

    state: State
    attention: str
    layer: int
    head: int
    cc: float | None
    cp: float | None
    pc: float | None
    pp: float | None
    together: float | None
    nearness: float | None

    def share(self, term: str) -> float | None:
        """Return the share of one of `four_terms.TERMS`."""
        share: float | None = getattr(self, term)
        return share


@dataclasses.dataclass(frozen=True)
class HeadAttention:
    """Attention of one head, as in `attention_statistics`; None where no query counts."""

    state: State
    attention: str
    layer: int
    head: int
    entropy: float | None
    distance: float | None
    aligned: float | None
    by_chance: float | None
    sink_share: float | None


@dataclasses.dataclass(frozen=True)
class LayerProbe:
    """Score of the position probe of a layer's output; layer 0 is the input of the first."""

    state: State
    stack: str
    layer: int
    r2: float | None
    error: float | None


@dataclasses.dataclass(frozen=True)
class StateInput:
    """Tokens and position embeddings at the input, of one state."""

    state: State
    parts: InputParts


@dataclasses.dataclass(frozen=True)
class KnockOutScore:
    """Score with one encoding off; `encoding` is None for the model as it is.

    Without a layer or head, the encoding is off on all of them.
    """

    encoding: str | None
    where: str | None
    layer: int | None
    head: int | None
    length: int
    exact_match: float
    token_accuracy: float


@dataclasses.dataclass(frozen=True)
class FailureCounts:
    """How the answers of a length fail.

    Attributes:
      shares: kind -> share of the failed answers; None if no answer failed.
      first_error: for each token of the answer, the number of answers that first fail there.
    """

    length: int
    examples: int
    failed: int
    shares: dict[str, float | None]
    first_error: list[int]


@dataclasses.dataclass(frozen=True)
class ValidationPoint:
    """A step of the training curve and the exact match of each length."""

    step: int
    exact_match: dict[int, float]


@dataclasses.dataclass(frozen=True)
class TrainingCourse:
    """Findings at the steps whose parameters were kept; without rows if none were.

    Attributes:
      curve: from the record.
      threshold: exact match at which the task counts as solved.
      solved_at: the first step of the curve where the mean over the lengths up to the training
        length reaches the threshold; None without one.
    """

    terms: list[HeadTerms]
    attention: list[HeadAttention]
    input: list[StateInput]
    curve: list[ValidationPoint]
    threshold: float
    solved_at: int | None


@dataclasses.dataclass(frozen=True)
class InspectedRun:
    """The run and the examples of an inspection.

    Attributes:
      unit: of the lengths.
      examples: number of each length.
      greedy: answers are generated token by token, not read in one pass.
    """

    run_id: str
    config: JsonObject
    unit: str
    trained_length: int
    lengths: list[int]
    examples: int
    greedy: bool
    end_token: bool


@dataclasses.dataclass(frozen=True)
class Findings:
    """All findings of one run.

    Attributes:
      missing: reasons of findings that this run does not have.
      first_examples: length -> attention of the final model, for the pictures.
    """

    run: InspectedRun
    input: list[StateInput]
    terms: list[HeadTerms]
    attention: list[HeadAttention]
    probes: list[LayerProbe]
    knock_outs: list[KnockOutScore]
    failures: list[FailureCounts]
    course: TrainingCourse
    missing: list[str]
    first_examples: dict[int, FirstExample]

    def to_json(self) -> JsonObject:
        """Plain data of all findings but the first examples."""
        without_arrays = dataclasses.replace(self, first_examples={})
        values = dataclasses.asdict(without_arrays)
        del values["first_examples"]
        return values
