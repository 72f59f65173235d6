"""The contrasts of an analysis spec: which pairs they are, what each says, and where nothing may be
said.

A difference is a minus b, of exact match at the point of the contrast, on the seeds that both have.
Variants are not compared across these lines, because the number would not mean what it seems to:

    target      the positions or the layout of one of them reveal the target length
    positions   training showed one of them the positions of the test, though no example was as long
    length      one of them was trained on that length
    not solved  the point is beyond training, and no seed of one of them solved the training lengths
"""

import dataclasses
import itertools
from dataclasses import dataclass
from typing import Any

from pe_lab.results import attainable, metrics, selection, statistics
from pe_lab.results.metrics import BITS
from pe_lab.results.results import Results, Variant
from pe_lab.results.statistics import Interval, Ranks
from pe_lab.runs.analysis_spec import SEPARATOR, Contrast, Extrapolation, Metric, MetricPoint, parts
from pe_lab.runs.errors import unknown


@dataclass(frozen=True)
class Counts:
    """Number of runs of a variant that extrapolate, of the runs with a known outcome."""

    extrapolating: int
    count: int

    @property
    def interval(self) -> Interval | None:
        return statistics.wilson(self.extrapolating, self.count)

    def __str__(self) -> str:
        return f"{self.extrapolating}/{self.count}"


@dataclass(frozen=True)
class Comparison:
    """What two variants show, and p values where these mean something; a reason where they do
    not.
    """

    a: Variant
    b: Variant
    metric: Metric
    counts: tuple[Counts, Counts]
    count_p: float | None
    differences: tuple[float, ...]  # a - b, one a shared seed
    difference: float | None  # their mean
    interval: Interval | None
    p: float | None  # of the differences
    correlation: float | None  # of a's and b's values over shared seeds
    improvement: float | None  # probability that a run of a is better than one of b
    reason: str = ""
    count_holm: float | None = None  # adjusted over all contrasts of the spec
    holm: float | None = None
    count_decides: bool = False  # some outcome of the seeds brings count_holm below the level
    decides: bool = False  # the same of holm


def contrasts(results: Results) -> list[Comparison]:
    """Every contrast of the spec, for each pair of variants that it names, adjusted together
    (Holm).
    """
    chosen = selection.chosen(results)
    found = [
        compare(chosen, a, b, c.point) for c in results.spec.contrasts for a, b in pairs(chosen, c)
    ]
    of_counts = [attainable.of_counts(*(n.count for n in c.counts)) for c in found]
    of_pairs = [attainable.of_pairs(len(c.differences)) for c in found]
    columns = {
        "count_holm": statistics.holm([c.count_p for c in found]),
        "holm": statistics.holm([c.p for c in found]),
        "count_decides": _decides(of_counts, [c.count_p for c in found]),
        "decides": _decides(of_pairs, [c.p for c in found]),
    }
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return [dataclasses.replace(c, **row) for c, row in zip(found, rows, strict=True)]


def _decides(smallest: list[float | None], ps: list[float | None]) -> list[bool]:
    """Whether each contrast can be decided, among those that are tested."""
    tested = [least if p is not None else None for least, p in zip(smallest, ps, strict=True)]
    return attainable.decides(tested)


def pairs(results: Results, contrast: Contrast) -> list[tuple[Variant, Variant]]:
    """The variants of a contrast: the two that have these names, or all pairs with these labels
    that agree in all others.

    Raises:
      UserError: there is none.
    """
    by_name = {v.name: v for v in results.variants}
    if contrast.a in by_name and contrast.b in by_name:
        return [(by_name[contrast.a], by_name[contrast.b])]
    sides = [
        [v for v in results.variants if set(parts(side)) <= set(v.labels.values())]
        for side in (contrast.a, contrast.b)
    ]
    found = [
        (a, b)
        for a, b in itertools.product(sides[0], sides[1])
        if a is not b and _agree(a, b, contrast)
    ]
    if not found:
        missing = contrast.b if contrast.a in by_name or sides[0] else contrast.a
        raise unknown("The study (analysis: contrasts)", missing, by_name)
    return found


def _agree(a: Variant, b: Variant, contrast: Contrast) -> bool:
    """Whether the labels of both are equal on all axes that neither side names."""
    sides = ((a, parts(contrast.a)), (b, parts(contrast.b)))
    named = {
        axis for variant, labels in sides for axis, text in variant.labels.items() if text in labels
    }
    rest_a, rest_b = (
        {axis: text for axis, text in v.labels.items() if axis not in named} for v in (a, b)
    )
    return rest_a == rest_b


def compare(
    results: Results, a: Variant, b: Variant, point: MetricPoint | None = None
) -> Comparison:
    """Compare two variants at a point, by default that of extrapolation; no p is adjusted."""
    extrapolation = (
        results.spec.extrapolation
        if point is None
        else dataclasses.replace(results.spec.extrapolation, point=point)
    )
    metric = Metric(BITS if results.has_text else "exact_match", extrapolation.point)
    counts = (extrapolation_counts(a, extrapolation), extrapolation_counts(b, extrapolation))
    of_a, of_b = (
        {run.seed: v for run in each.measured if (v := metrics.value(run, metric)) is not None}
        for each in (a, b)
    )
    shared = [seed for seed in of_a if seed in of_b]
    left, right = [of_a[seed] for seed in shared], [of_b[seed] for seed in shared]
    differences = tuple(x - y for x, y in zip(left, right, strict=True))
    better = (
        statistics.improvement(list(of_b.values()), list(of_a.values()))
        if metric.name == BITS
        else None
    )
    reason = _why_not(results, a, b, extrapolation) or (
        "" if differences else "no seed has a number on both sides"
    )
    return Comparison(
        a,
        b,
        metric,
        counts,
        None
        if reason or metric.name == BITS
        else statistics.barnard(*((c.extrapolating, c.count) for c in counts)),
        differences,
        statistics.mean(differences),
        None if reason else of_differences(differences),
        None if reason else statistics.sign_flip(differences),
        statistics.correlation(left, right),
        better
        if metric.name == BITS
        else statistics.improvement(list(of_a.values()), list(of_b.values())),
        reason,
    )


@dataclass(frozen=True)
class Ranking:
    """Variants over tasks; ranks None where too few tasks are left."""

    names: tuple[str, ...]  # without the task's label
    tasks: tuple[str, ...]  # that some seed of every variant solved
    of: int  # tasks of the study
    ranks: Ranks | None


def ranking(results: Results) -> Ranking:
    """Of the variants that every task has and nothing sets apart, by median exact match at the
    point of extrapolation.

    Only tasks that all of them solved count.
    """
    extrapolation, by_name = results.spec.extrapolation, dict[str, dict[str, Variant]]()
    for v in results.variants:
        rest = SEPARATOR.join(text for axis, text in v.labels.items() if axis != "task" and text)
        by_name.setdefault(rest, {})[v.task] = v
    tasks = dict.fromkeys(v.task for v in results.variants)
    kept = {n: own for n, own in by_name.items() if own.keys() == tasks.keys()}
    kept = {
        n: own
        for n, own in kept.items()
        if not any(apart(results, v, extrapolation.point) for v in own.values())
    }
    solved = tuple(
        task for task in tasks if kept and all(own[task].solved for own in kept.values())
    )
    scores = [[_middle(own[task], extrapolation.point) for own in kept.values()] for task in solved]
    known = all(score is not None for row in scores for score in row)
    return Ranking(tuple(kept), solved, len(tasks), statistics.ranks(scores) if known else None)


def _middle(variant: Variant, point: MetricPoint) -> Any:
    values = (
        metrics.at_point(run, "exact_match", point) for run in variant.measured if run.finished
    )
    return statistics.median([v for v in values if v is not None])


def of_differences(differences: Any) -> Interval | None:
    """Of a mean of paired differences: BCa from ten pairs, Student's from five, none below."""
    if len(differences) < statistics.EXACT_FROM:
        return None
    if len(differences) < statistics.BOOTSTRAP_FROM:
        return statistics.t_interval(differences)
    return statistics.bootstrap([differences], lambda drawn: drawn.mean(axis=-1))


def extrapolation_counts(variant: Variant, extrapolation: Extrapolation) -> Counts:
    """Count the runs that extrapolate, of the runs with a known outcome."""
    known = [
        s for run in variant.measured if (s := metrics.extrapolates(run, extrapolation)) is not None
    ]
    return Counts(sum(known), len(known))


def apart(results: Results, variant: Variant, point: MetricPoint) -> tuple[str, ...]:
    """What sets a variant apart from others at a point: it is ranked with those of the same
    alone.
    """
    length = point.length_for(variant.max_length)
    reveals = ("reveals the target length",) if variant.reveals_target_length else ()
    trained = (
        ("was trained on that length",)
        if length is not None and length <= variant.max_length
        else ()
    )
    seen = ("saw the positions of the test",) if saw_positions(results, variant, point) else ()
    return (*reveals, *seen, *trained)


def saw_positions(results: Results, variant: Variant, point: MetricPoint) -> bool:
    """Whether training showed positions as large as the test's there, though no example as long.

    The records hold the largest position of training. That of the test is reckoned from variants of
    the same task, layout and training length that just count up: as many positions a unit of length
    as theirs. False where there are none. Of a range of lengths, the longest that was measured
    counts.
    """
    length = (
        min(point.lengths[1], results.lengths[-1])
        if point.lengths
        else point.length_for(variant.max_length)
    )
    plain = [
        v.max_position
        for v in results.variants
        if v.max_position is not None and _counts_up(v) and _same_input(v, variant)
    ]
    if (
        length is None
        or not plain
        or variant.max_position is None
        or not 0 < variant.max_length < length
    ):
        return False
    largest = (min(plain) + 1) * length / variant.max_length - 1 + point.offset
    return variant.max_position > min(plain) and variant.max_position >= largest


def _counts_up(variant: Variant) -> bool:
    configs = [r["config"] for r in variant.finished]
    return all(
        c["positions"]["name"] == "contiguous" and c["layout"]["examples_per_context"] == 1
        for c in configs
    )


def _same_input(v: Variant, w: Variant) -> bool:
    if not v.finished or not w.finished or v.max_length != w.max_length:
        return False
    one, other = v.finished[0]["config"], w.finished[0]["config"]
    return one["task"] == other["task"] and one["layout"]["name"] == other["layout"]["name"]


def _why_not(results: Results, a: Variant, b: Variant, extrapolation: Extrapolation) -> str:
    """A sentence why two variants are not compared; empty if they may be."""
    for variant in (a, b):
        if not variant.finished:
            return f"{variant.name} has no finished run"
    own, others = apart(results, a, extrapolation.point), apart(results, b, extrapolation.point)
    for variant, more in ((a, set(own) - set(others)), (b, set(others) - set(own))):
        if more:
            return f"{variant.name} {sorted(more)[0]}"
    for variant in (a, b):
        if not variant.solved and not results.has_text and _beyond(variant, extrapolation.point):
            return f"{variant.name} did not solve the training lengths with any seed"
    return ""


def _beyond(variant: Variant, point: MetricPoint) -> bool:
    """Whether a point is beyond the training data. Within it, the number says what was learned."""
    length = point.length_for(variant.max_length)
    return bool(point.offset) or length is None or length > variant.max_length
