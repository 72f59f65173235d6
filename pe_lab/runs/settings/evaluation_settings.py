"""The settings of the evaluation of a run, its overrides, and settings as plain values."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Literal

from pe_lab.runs.settings.declarations import setting
from pe_lab.runs.settings.plugin import Encoding, Plugin


@dataclass(frozen=True)
class Override:
    """An evaluation override: replacements of parts of a run. None: no change.

    Attributes:
      task: the run's task with other arguments.
      evaluated_task: `task` with exact operands, from which the examples are drawn.
      axes: the override's label on each axis of a grid of overrides.
    """

    label: str
    positions: Plugin | None
    encodings: tuple[Encoding, ...] | None
    task: Plugin | None = None
    evaluated_task: Plugin | None = None
    num_loops: int | None = None
    logit_temperature: Literal["none", "log_n", "ssmax"] | None = None
    axes: tuple[tuple[str, str], ...] = ()

    def to_dict(self) -> dict[str, object]:
        values = {f.name: plain(getattr(self, f.name)) for f in dataclasses.fields(self)}
        # Records from before the later fields existed stay equal, so unused ones are left out.
        always = ("label", "positions", "encodings")
        used = {name: value for name, value in values.items() if name in always or value}
        # Arguments at their default may be left out: the trained ones are not meant.
        return {**used, "is_complete": True}


@dataclass(frozen=True, kw_only=True)
class Evaluate:
    """The measurements at the end of training, and during it."""

    lengths: tuple[int, ...] = setting((8, 16, 24, 32), "Test lengths.")
    # Never None: a config's None is resolved.
    validation_lengths: tuple[int, ...] = setting(
        None,
        "Lengths up to max_length whose mean exact match decides whether a run is solved. None: "
        "all trained lengths, or eight of them spread evenly if there are more.",
    )
    offsets: tuple[int, ...] = setting(
        (0,), "Added to every position: positions that training did not show, at any length."
    )
    overrides: tuple[Override, ...] = setting(
        (),
        "Evaluations with dict(positions=…, encodings=…, task=dict(argument=…), num_loops=…, "
        "logit_temperature=…) in place of the trained settings. grid.overrides in pe_lab/runs "
        "makes every combination of values.",
    )
    exact_operands: Literal["longest", "all", "none"] = setting(
        "longest",
        'Operands that have exactly n digits at length n: the "longest" (one at least), "all", or '
        '"none" (up to n digits, as in training). Tasks without operands are the same in all '
        "three.",
        in_all_records=False,
        older="none",
    )
    attributes: tuple[str, ...] = setting(
        (),
        'Attributes of the task\'s examples, such as ("num_ones",), by whose values exact match '
        "is measured too. docs/tasks.md lists those of each task.",
        in_all_records=False,
    )
    num_examples: int = setting(512, "Examples for each length and offset.", at_least=1)
    batch_size: int = setting(256, "Examples of a batch.", at_least=1)
    curve_every: int = setting(
        500,
        "Steps between evaluations during training, at which the criterion is checked.",
        at_least=1,
    )
    curve_lengths: tuple[int, ...] = setting((16, 32), "Lengths of these evaluations.")
    curve_examples: int = setting(128, "Examples of each of these lengths.", at_least=1)

    removed = MappingProxyType({"frozen": None})

    @property
    def all_lengths(self) -> tuple[int, ...]:
        """Every length that is evaluated."""
        return (*self.lengths, *self.validation_lengths, *self.curve_lengths)


def plain(value: object) -> Any:
    """Return a value as JSON knows it: dataclasses as dictionaries, tuples as lists."""
    if isinstance(value, Plugin):
        return plain(value.to_dict())
    if isinstance(value, Override):
        return value.to_dict()
    if dataclasses.is_dataclass(value):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value
