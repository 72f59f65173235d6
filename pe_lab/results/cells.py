"""The text and the value of one cell: a center over seeds with its interval, a count, a setting."""

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np

from pe_lab.metrics.base import LengthMetric, Limit, Value
from pe_lab.results import compare, kaplan_meier, measured, metrics, selection, statistics
from pe_lab.results.compare import Counts
from pe_lab.results.formats import DASH, Cell
from pe_lab.results.measured import Measured
from pe_lab.results.results import Results, Variant
from pe_lab.results.statistics import Interval
from pe_lab.runs.analysis_spec import MetricPoint, MetricSpec
from pe_lab.runs.first_steps import FirstStep

REVEALS, SEEN, REPEATED, EDGE = "†", "‡", "§", "(edge)"
SIGNS = {
    REVEALS: "†: reveals the target length to the model, by its positions or its layout; not to be "
    "ranked with the others.",
    SEEN: "‡: training showed positions as large as those of the test, though no example was as "
    "long; not to be ranked with the others. "
    "Behind a name, of the test of extrapolation; behind a number, of its own.",
    REPEATED: "§: training can draw some of the test inputs of this length.",
    DASH: f"{DASH}: no number, because the encoding or the positions end before this length, "
    f"the run did not finish, or nobody has measured it.",
    EDGE: "(edge): the smallest or largest value tried; a wider grid may do better.",
    "→": "→: beyond the training length.",
    "> ": "> N: fewer than half of the runs got there by step N; in brackets: no upper bound.",
    "±": "±: one standard deviation over seeds, of outcomes that often fall into two groups.",
}


def name(results: Results, variant: Variant) -> Cell:
    """The name of a variant, with the signs that apply at the point of extrapolation."""
    signs = []
    if variant.reveals_target_length:
        signs.append(REVEALS)
    if compare.saw_positions(results, variant, results.spec.extrapolation.point):
        signs.append(SEEN)
    return Cell(" ".join([variant.name, *signs]))


def point_of(results: Results, metric: MetricSpec) -> MetricPoint | None:
    """Return the point of a metric; None for metrics without one, such as `steps`."""
    entry, point = metrics.BY_NAME[metric.name], metric.point
    extrapolation = results.spec.extrapolation.point
    if isinstance(entry, LengthMetric) or point.has_length:
        return point
    if entry.tested_to is not None:
        return MetricPoint(at=entry.tested_to, offset=point.offset)
    if metric.name == "extrapolates":
        return extrapolation
    if entry.at_extrapolation:
        return dataclasses.replace(extrapolation, offset=point.offset or extrapolation.offset)
    return None


def center(
    variants: Sequence[Variant],
    value: Callable[[Measured], Value | None],
    show: str = "median",
    kind: str = "",
) -> Cell:
    """The center over the seeds of a variant, or of one variant for each task.

    Args:
      value: of a run; None without a value.
      show: median, mean, iqm, or seeds (all of them).
      kind: name of the metric, which sets the format of its numbers.
    """
    runs = [run for variant in variants for run in variant.measured]
    if show == "seeds" and runs:
        return Cell(" ".join(number(value(run), kind) for run in runs))
    strata = []
    for variant in variants:
        of_runs = [value(run) for run in variant.measured]
        strata.append([number for number in of_runs if number is not None])
    point = middle([value for stratum in strata for value in stratum], show)
    if point is None:
        return Cell(DASH)
    if isinstance(point, Limit):
        return Cell(str(point), point.length)
    if isinstance(point, FirstStep):
        times = _first_steps([value for stratum in strata for value in stratum])
        bounds = kaplan_meier.interval(times)
        text = "" if bounds is None else f" [{bounds[0]}, {bounds[1]}]"
        return Cell(f"{point}{text}", point.step)
    numbers = [_numbers(stratum) for stratum in strata]
    text = number(point, kind)
    if show == "mean":
        spread = statistics.deviation([value for stratum in numbers for value in stratum])
        if spread is not None:
            text += f" ± {number(spread, kind, exact=False)}"
        return Cell(text, point)
    return Cell(text + bracket(_interval(variants, numbers, value, show), kind), point)


def middle(values: Sequence[Value], show: str) -> Value | None:
    """Return a center: mean, iqm, or else the median; None without values."""
    if not values:
        return None
    if isinstance(values[0], Limit):
        return statistics.median(values)
    if isinstance(values[0], FirstStep):
        return kaplan_meier.median(_first_steps(values))
    numbers = _numbers(values)
    if show == "mean":
        return statistics.mean(numbers)
    if show == "iqm":
        return float(statistics.interquartile_mean(numbers))
    return float(np.median(numbers))


def _numbers(values: Sequence[Value]) -> list[int | float]:
    return [value for value in values if isinstance(value, int | float)]


def _first_steps(values: Sequence[Value]) -> list[FirstStep]:
    return [value for value in values if isinstance(value, FirstStep)]


def _interval(
    variants: Sequence[Variant],
    strata: Sequence[Sequence[int | float]],
    value: Callable[[Measured], Value | None],
    show: str,
) -> Interval | None:
    """Return the interval that this number of seeds allows."""
    if show == "median":
        return statistics.order_statistics(strata[0]) if len(strata) == 1 else None
    if len(variants) == 1 and len(variants[0].candidates) > 1:
        return selection.interval(variants[0], value)
    if min(map(len, strata)) < statistics.BOOTSTRAP_FROM:
        return None
    return statistics.bootstrap(strata, statistics.interquartile_mean)


def extrapolates(counts: Sequence[Counts]) -> Cell:
    """The number of runs that extrapolate, of the known outcomes.

    One variant has Wilson's interval. The rates of several tasks are not one rate.
    """
    successes, count = sum(c.extrapolating for c in counts), sum(c.count for c in counts)
    if not count:
        return Cell(DASH)
    interval = counts[0].interval if len(counts) == 1 else None
    return Cell(f"{successes}/{count}{bracket(interval)}", successes)


def solved(variants: Sequence[Variant]) -> Cell:
    """The number of runs that are solved, and of runs that did not finish."""
    statuses = [record["status"] for variant in variants for record in variant.runs]
    count = sum(variant.solved for variant in variants)
    text = f"{count}/{len(statuses)}"
    if statuses and not count:
        text += " not solved"
    for status in ("diverged", "failed"):
        if status in statuses:
            text += f", {statuses.count(status)} {status}"
    return Cell(text, count)


def measure(results: Results, variants: Sequence[Variant], metric: MetricSpec) -> Cell:
    """A metric over the seeds of variants, or a count of their runs."""
    spec, first = results.spec, variants[0]
    outcome = MetricSpec("exact_match", point_of(results, metric) or spec.extrapolation.point)
    if metric.name == "extrapolates":
        counts = [compare.extrapolation_counts(v, spec.extrapolation) for v in variants]
        return extrapolates(counts)
    if metric.name == "solved":
        return solved(variants)
    if metric.name == "seeds":
        count = sum(len(variant.finished) for variant in variants)
        return Cell(str(count), count)
    if metric.name == "every_seed":
        return center(variants, lambda run: measured.value(run, outcome), "seeds", outcome.name)
    if metric.name == "chosen":
        setting = selection.setting(first, spec.tuned) or DASH
        at_edge = selection.at_edge(first, spec.tuned)
        return Cell(f"{setting} {EDGE}" if at_edge else setting)
    if metric.name == "tied":
        return _tied(first, outcome)
    if metric.show == "best":
        value = best(variants, metric)
        behind = value.length if isinstance(value, Limit) else value
        return Cell(number(value, metric.name), behind)
    return center(variants, lambda run: measured.value(run, metric), metric.show, metric.name)


def best(variants: Sequence[Variant], metric: MetricSpec) -> int | float | Limit | None:
    """Return the best test value over all seeds and all settings that were tried."""
    candidates = [c for variant in variants for c in variant.candidates or (variant,)]
    values = [measured.value(run, metric) for c in candidates for run in c.measured]
    known = [value for value in values if isinstance(value, int | float | Limit)]
    choose = min if metrics.BY_NAME[metric.name].lower_is_better else max
    return choose(known, default=None)


def _tied(variant: Variant, outcome: MetricSpec) -> Cell:
    """The range of the median outcome over the settings that validation does not separate."""
    settings = selection.tied(variant)
    medians = []
    for candidate in settings:
        values = [measured.value(run, outcome) for run in candidate.measured]
        median = middle([value for value in values if value is not None], "median")
        if isinstance(median, int | float):
            medians.append(median)
    if not medians:
        return Cell(DASH)
    low, high = min(medians), max(medians)
    amount = f"{len(settings)} of {len(variant.candidates)}"
    return Cell(f"{number(low)}–{number(high)} ({amount})", high - low)


def number(value: Value | None, kind: str = "", *, exact: bool = True) -> str:
    """Return the text of a number. A share below 1 is not rounded up to 1.

    Args:
      kind: name of the metric.
      exact: False for a number that is no share, such as a standard deviation.
    """
    if value is None:
        return DASH
    if isinstance(value, Limit | FirstStep):
        return str(value)
    style = metrics.BY_NAME[kind].style if kind in metrics.BY_NAME else "share"
    if style == "whole":
        return f"{value:,.0f}"
    if style == "power":
        return f"{value:.1e}".replace("e+", "e")
    if style == "small":
        return f"{value:.2g}"
    if exact and 0.995 <= value < 1:
        return f"{min(value, 0.999):.3f}"
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def signed(value: float | None) -> str:
    """Return the text of a difference."""
    if value is None:
        return DASH
    text = f"{value:+.2f}".replace("-0.00", "0.00").replace("+0.00", "0.00")
    return text.replace("-", "−")


def p_value(p: float | None) -> str:
    """Return the text of a p value."""
    if p is None:
        return DASH
    if p < 0.001:
        return "< 0.001"
    return f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def bracket(interval: Interval | None, kind: str = "") -> str:
    """Return an interval as it follows its number."""
    if interval is None:
        return ""
    return f" [{number(interval.low, kind)}, {number(interval.high, kind)}]"


def intervals_note(counts: Sequence[int], show: str = "median") -> str:
    """Return the note about the intervals of centers for these numbers of seeds."""
    enough, kind = statistics.BOOTSTRAP_FROM, "BCa"
    method = "BCa bootstrap of the interquartile mean"
    if show == "median":
        enough, kind = statistics.EXACT_FROM, "order statistics"
        method = "exact, from order statistics of the median"
    few = [count for count in counts if 0 < count < enough]
    many = [count for count in counts if count >= enough]
    parts = [f"none for {listed(few)}, every one of which is shown"] if few else []
    if many:
        parts.append(f"{method} for {listed(many)}{covers(kind, min(many))}")
    return f"Intervals [in brackets]: {'; '.join(parts)}." if parts else ""


def wilson_note(counts: Sequence[int]) -> str:
    """Return the note about the intervals of counts."""
    known = [count for count in counts if count]
    if not known:
        return ""
    return f"*extrapolates*: brackets are Wilson intervals{covers('wilson', min(known))}."


def covers(kind: str, count: int) -> str:
    """Return the simulated coverage of an interval in words."""
    simulated = statistics.coverage(kind, count)
    if simulated is None:
        return ""
    seeds, share = simulated
    return f" (in simulated studies of {seeds} seeds they hold the truth in {100 * share:.0f} %)"


def listed(counts: Sequence[int], unit: str = "seed") -> str:
    """Return a number of seeds or of pairs, or its range."""
    fewest, most = min(counts), max(counts)
    amount = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"{amount} {unit}{'s' * (most != 1)}"
