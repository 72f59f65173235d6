"""Two-stage tuning: every setting with the first seeds, then the best setting with the others.

In a config file:

    tune = dict(axes={"train.learning_rate": (1e-3, 3e-3, 1e-2)}, seeds=3, extend=True)

Each variant of the sweep is trained with every setting of the axes and its first `seeds` seeds. The
setting with the lowest mean validation loss is chosen, as in tables (results/selection.py), and the
other seeds are trained with it alone. With `extend`, a variant whose best value is the smallest or
the largest gets one more value beyond it, once. Test scores are never read.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.results import selection
from pe_lab.runs import grid, records, validation
from pe_lab.runs.analysis_spec import SEED_AXES, SEPARATOR
from pe_lab.runs.declarations import check_keys
from pe_lab.runs.errors import UserError
from pe_lab.runs.grid import Choice, Point
from pe_lab.runs.record_schema import Record
from pe_lab.runs.typed_values import checked
from pe_lab.sweeps import tuned_axes
from pe_lab.sweeps.study import ExpandedStudy

Labels = tuple[tuple[str, str], ...]  # (axis, label) of each axis


@dataclass(frozen=True)
class Tuning:
    """The first stage of a study.

    Attributes:
      axes: values by path of the config.
      seeds: seeds of each variant that are trained with every setting.
      extend: add one value beyond the best one if that is at an edge.
    """

    axes: Mapping[str, tuple[object, ...]]
    seeds: int
    extend: bool = False


@dataclass(frozen=True)
class Tuned:
    """The choice for one variant.

    Attributes:
      variant: its labels, without seeds and without the tuned axes.
      setting: the chosen value of each tuned axis.
      losses: mean validation loss over the first seeds, by the labels of the setting. Failed runs
        are left out.
      edges: tuned axes on which the chosen value is the smallest or the largest.
    """

    variant: Labels
    setting: Point
    losses: Mapping[Labels, float]
    edges: tuple[str, ...]


def read(values: object) -> Tuning:
    """Check the `tune` of a config.

    Raises:
      UserError: a key is unknown or missing, or a value cannot be used.
    """
    if not isinstance(values, Mapping):
        raise UserError(
            f"tune is a dict, such as tune = dict(axes=..., seeds=3), and no function, got "
            f"{values!r}."
        )
    check_keys("tune", values, ("axes", "seeds", "extend"))
    axes = values.get("axes")
    seeds = values.get("seeds")
    extend = values.get("extend", False)
    if not isinstance(axes, Mapping) or not axes:
        raise UserError(
            'tune: axes must name values by path, as in {"train.learning_rate": (1e-3, 3e-3)}, '
            f"got {axes!r}."
        )
    for path, choices in axes.items():
        if path in SEED_AXES:
            raise UserError(f"tune: {path!r} cannot be tuned. Seeds belong in sweep().")
        if not isinstance(choices, tuple | list) or len(choices) < 2:
            raise UserError(f"tune: the axis {path!r} needs two or more values, got {choices!r}.")
    if not isinstance(seeds, int) or isinstance(seeds, bool) or seeds < 1:
        raise UserError(f"tune: seeds must be a whole number of at least 1, got {seeds!r}.")
    checked(extend, bool, "tune: extend")
    for path, choices in axes.items():
        numbers = tuned_axes.sorted_numbers(choices)
        if extend and (numbers is None or numbers[0] <= 0):
            raise UserError(
                f"tune: extend needs positive numbers on every axis, got {choices!r} for {path!r}."
            )
    values_by_path = {path: tuple(choices) for path, choices in axes.items()}
    return Tuning(values_by_path, seeds, extend)


def first_points(points: Sequence[Point], tuning: Tuning) -> list[Point]:
    """The points of the first stage: each variant with every setting and its first seeds.

    Raises:
      UserError: the sweep has one of the tuned axes already.
    """
    for point in points:
        for path in tuning.axes:
            if path in point:
                raise UserError(f"The axis {path!r} is in sweep() and in tune: name it in one.")
    first = []
    for variant_points in _by_variant(points).values():
        first_seeds = variant_points[: tuning.seeds]
        for setting in grid.product(tuning.axes):
            first += [_with_setting(point, setting) for point in first_seeds]
    return first


def extended_points(
    points: Sequence[Point],
    tuning: Tuning,
    tuned: Sequence[Tuned],
) -> list[Point]:
    """The points of one more value for each variant whose best value is at an edge."""
    by_variant = _by_variant(points)
    more = []
    for choice in tuned:
        # With several tuned axes, each edge is extended alone, at the chosen value of the others.
        for path in choice.edges:
            value = tuned_axes.beyond(choice.setting[path].value, tuning.axes[path])
            if value is None:  # there may be no whole number beyond
                continue
            (new_value,) = grid.product({path: [value]})
            setting = {**choice.setting, **new_value}
            first_seeds = by_variant[choice.variant][: tuning.seeds]
            more += [_with_setting(point, setting) for point in first_seeds]
    return more


def last_points(
    points: Sequence[Point],
    tuning: Tuning,
    tuned: Sequence[Tuned],
) -> list[Point]:
    """The points of the second stage: the chosen setting of each variant with the other seeds."""
    by_variant = _by_variant(points)
    last = []
    for choice in tuned:
        other_seeds = by_variant[choice.variant][tuning.seeds :]
        last += [_with_setting(point, choice.setting) for point in other_seeds]
    return last


def choose(
    study: ExpandedStudy,
    points: Sequence[Point],
    tuning: Tuning,
    folder: Path,
) -> list[Tuned]:
    """The best setting of each variant by its mean validation loss, from the records in a folder.

    A variant is missing if all its runs failed.

    Args:
      study: of these points.
      points: of the first stage.
    """
    by_id, _ = records.read_intact(folder)  # the run of a damaged record will be trained again
    settings: dict[Labels, dict[Labels, Point]] = {}
    trained: dict[Labels, dict[Labels, list[selection.Row]]] = {}
    for point, entry in zip(points, study.entries, strict=True):
        setting = {path: point[path] for path in tuning.axes}
        labels = _labels(setting)
        variant = _variant({path: c for path, c in point.items() if path not in tuning.axes})
        variant_settings = settings.setdefault(variant, {})
        variant_settings[labels] = setting
        # A failed run says nothing about its setting, because the machine may have failed. A
        # diverged run does: its loss is infinite.
        record = by_id.get(entry.run.run_id)
        if record is not None and record["status"] != "failed":
            by_setting = trained.setdefault(variant, {})
            by_setting.setdefault(labels, []).append(_case(record))
    tuned = []
    for variant, by_setting in trained.items():
        # Settings are compared on the seeds that all of them have, because a run may have failed.
        compared = selection.with_shared_seeds(list(by_setting.values()))
        losses = dict(zip(by_setting, map(selection.mean_loss, compared), strict=True))
        # `min` keeps the first of equal losses, such as two infinite ones, in the order of points.
        best = min(losses, key=losses.__getitem__)
        setting = settings[variant][best]
        # Edges of all planned settings, even if every run of the outermost one failed.
        edges = tuned_axes.edges(setting, settings[variant].values())
        tuned.append(Tuned(variant, setting, losses, edges))
    return tuned


def _case(record: Record) -> selection.Row:
    """Return the values of a run that the choice of a setting needs."""
    member = record["member"]
    return {
        "seed": member["seed"],
        "data_seed": member["data_seed"],
        "status": record["status"],
        "validation_loss": validation.mean_loss(record),
    }


def describe(choice: Tuned) -> str:
    """The choice for a variant in words. Axes where the chosen value is at an edge are marked."""
    variant = SEPARATOR.join(label for _, label in choice.variant if label)
    settings = []
    for path, value in choice.setting.items():
        edge = " (edge)" if path in choice.edges else ""
        settings.append(f"{path} {value.label}{edge}")
    name = variant or "the only variant"
    loss = choice.losses[_labels(choice.setting)]
    if not math.isfinite(loss):
        return f"{name} diverged with every setting, and keeps {', '.join(settings)}"
    return f"{name} has the lowest validation loss with {', '.join(settings)}"


def num_seeds(points: Sequence[Point]) -> int:
    """The smallest number of seeds of a variant."""
    by_variant = _by_variant(points)
    return min(len(variant_points) for variant_points in by_variant.values())


def num_later_points(points: Sequence[Point], tuning: Tuning) -> int:
    """The number of points of the second stage, which is the same for every choice."""
    return sum(len(seeds[tuning.seeds :]) for seeds in _by_variant(points).values())


def plain(tuning: Tuning, tuned: Sequence[Tuned], later_runs: int) -> dict[str, object]:
    """The tuning and its choices as study.json holds them.

    Args:
      later_runs: runs of later stages, which are not in the study yet.
    """
    choices = []
    for choice in tuned:
        losses = []
        for labels, loss in choice.losses.items():
            # JSON has no infinity: null is the loss of a setting with a run that diverged.
            finite = loss if math.isfinite(loss) else None
            losses.append({"setting": dict(labels), "validation_loss": finite})
        choices.append(
            {
                "variant": dict(choice.variant),
                "setting": dict(_labels(choice.setting)),
                "edges": list(choice.edges),
                "losses": losses,
            }
        )
    values = {"seeds": tuning.seeds, "extend": tuning.extend, "choices": choices}
    return {**values, "later_runs": later_runs} if later_runs else values


def _by_variant(points: Sequence[Point]) -> dict[Labels, list[Point]]:
    """The points of each variant, one for each of its seeds."""
    by_variant: dict[Labels, list[Point]] = {}
    for point in points:
        by_variant.setdefault(_variant(point), []).append(point)
    return by_variant


def _variant(point: Point) -> Labels:
    return _labels({path: choice for path, choice in point.items() if path not in SEED_AXES})


def _labels(point: Mapping[str, Choice]) -> Labels:
    return tuple((path, choice.label) for path, choice in point.items())


def _with_setting(point: Point, setting: Point) -> Point:
    """Return a point with a setting. The tuned axes come before the seeds."""
    seeds = {path: choice for path, choice in point.items() if path in SEED_AXES}
    others = {path: choice for path, choice in point.items() if path not in SEED_AXES}
    return {**others, **setting, **seeds}


def possible_extensions(tuning: Tuning) -> list[tuple[str, int | float]]:
    """Each tuned axis with each value that `extend` may add to it."""
    extensions = []
    for path, values in tuning.axes.items():
        numbers = tuned_axes.sorted_numbers(values)
        assert numbers is not None  # checked by `read`
        for edge in (numbers[0], numbers[-1]):
            value = tuned_axes.beyond(edge, values)
            if value is not None:
                extensions.append((path, value))
    return extensions
