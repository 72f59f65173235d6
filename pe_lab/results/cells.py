"""One cell of a table about one variant: numbers of its seeds, their centre, how many extrapolate,
what sets it apart.
"""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

from pe_lab.results import compare, metrics, selection, statistics
from pe_lab.results.compare import Counts
from pe_lab.results.formats import DASH, Cell
from pe_lab.results.metrics import Limit, Measured
from pe_lab.results.results import Results, Variant
from pe_lab.results.statistics import Interval
from pe_lab.runs.analysis_spec import BY_LENGTH, Metric, MetricPoint

REVEALS, SEEN, REPEATED, EDGE = "†", "‡", "§", "(edge)"
SIGNS = {
    REVEALS: "†: reveals the target length to the model, by its positions or its layout; not to be "
    "ranked with the others.",
    SEEN: "‡: training showed positions as large as those of the test, though no example was as "
    "long; not to be ranked with the others. "
    "Behind a name, of the test of extrapolation; behind a number, of its own.",
    REPEATED: "§: training can draw some of the test inputs of this length.",
    DASH: f"{DASH}: no number, because the encoding or the positions end before this length, "
    f"the run did not finish, or nobody has "
    "measured it.",
    EDGE: "(edge): the smallest or largest value tried; a wider grid may do better.",
    "→": "→: beyond the training length.",
    "±": "±: one standard deviation over seeds, of outcomes that often fall into two groups.",
}
_AT_EXTRAPOLATION = ("every_seed", "tied", "L90", "L99")  # unless they say where
_TESTED_TO = {
    "trained_length": 1.0,
    "retention": 2.0,
    "auc": metrics.AREA_TO,
    "log_auc": metrics.AREA_TO,
}  # times the training length
_LOWER_IS_BETTER = (
    *("negative_log_likelihood", metrics.BITS, metrics.BITS_SLIDING, "in_distribution_loss"),
    *("steps", "flops", "parameters"),
)
_WHOLE, _SMALL = ("steps", "parameters"), ("in_distribution_loss",)


def name(results: Results, variant: Variant) -> Cell:
    """A variant's, with the signs of what sets it apart at the point of extrapolation."""
    signs = [REVEALS] if variant.reveals_target_length else []
    signs += (
        [SEEN] if compare.saw_positions(results, variant, results.spec.extrapolation.point) else []
    )
    return Cell(" ".join([variant.name, *signs]))


def point_of(results: Results, metric: Metric) -> MetricPoint | None:
    """Return the point of a metric; None for metrics without one, such as `steps`."""
    extrapolation, point = results.spec.extrapolation.point, metric.point
    if metric.name in BY_LENGTH or point.has_length:
        return point
    if metric.name in _TESTED_TO:
        return MetricPoint(at=_TESTED_TO[metric.name], offset=point.offset)
    if metric.name == "extrapolates":
        return extrapolation
    return (
        dataclasses.replace(extrapolation, offset=point.offset or extrapolation.offset)
        if metric.name in _AT_EXTRAPOLATION
        else None
    )


def centre(
    variants: Sequence[Variant],
    value: Callable[[Measured], Any],
    show: str = "median",
    kind: str = "",
) -> Cell:
    """Of the seeds of a variant, or of one variant of each task.

    Args:
      value: of a run; None where it has none.
      show: median, mean, iqm, or seeds: all of them.
      kind: the metric's name, which says how its numbers are written.
    """
    strata = [
        [v for run in variant.measured if (v := value(run)) is not None] for variant in variants
    ]
    values = [v for stratum in strata for v in stratum]
    if show == "seeds" and any(variant.runs for variant in variants):
        return Cell(
            " ".join(number(value(run), kind) for variant in variants for run in variant.measured)
        )
    if not values:
        return Cell(DASH)
    point = middle(values, show)
    if isinstance(point, Limit):
        return Cell(str(point), point.length)
    if show == "mean":
        spread = statistics.deviation(values)
        text = number(point, kind)
        if spread is not None:
            text += f" ± {number(spread, kind, exact=False)}"
        return Cell(text, point)
    interval = _interval(variants, strata, value, show)
    return Cell(f"{number(point, kind)}{bracket(interval, kind)}", point)


def middle(values: Sequence[Any], show: str) -> Any:
    """The centre that is asked for, the median unless it is a mean; None of nothing."""
    if not values or isinstance(values[0], Limit):
        return statistics.median(values)
    found = {"mean": statistics.mean, "iqm": statistics.interquartile_mean}.get(
        show, statistics.median
    )(values)
    return float(found)


def _interval(
    variants: Sequence[Variant],
    strata: Sequence[Sequence[Any]],
    value: Callable[[Measured], Any],
    show: str,
) -> Interval | None:
    """What so many seeds allow: of a median exact, from five; of an interquartile mean BCa, from
    ten in each task.
    """
    if show == "median":
        return statistics.order_statistics(strata[0]) if len(strata) == 1 else None
    if len(variants) == 1 and len(variants[0].candidates) > 1:
        return selection.interval(variants[0], value)
    if min(map(len, strata)) < statistics.BOOTSTRAP_FROM:
        return None
    return statistics.bootstrap(strata, statistics.interquartile_mean)


def extrapolates(counts: Sequence[Counts]) -> Cell:
    """How many of how many; of one variant, with Wilson's interval: rates of several tasks are not
    one rate.
    """
    number, count = sum(c.extrapolating for c in counts), sum(c.count for c in counts)
    if not count:
        return Cell(DASH)
    return Cell(
        f"{number}/{count}{bracket(counts[0].interval) if len(counts) == 1 else ''}", number
    )


def solved(variants: Sequence[Variant]) -> Cell:
    """Number of runs that are solved, and of runs that did not finish."""
    runs = [r for v in variants for r in v.runs]
    count = sum(v.solved for v in variants)
    words = f"{count}/{len(runs)}"
    if runs and not count:
        words += " not solved"
    for status in ("diverged", "failed"):
        if ended := sum(r["status"] == status for r in runs):
            words += f", {ended} {status}"
    return Cell(words, count)


def measure(results: Results, variants: Sequence[Variant], metric: Metric) -> Cell:
    """A metric of a run over seeds, or a count of the variant."""
    extrapolation, first = results.spec.extrapolation, variants[0]
    if metric.name == "extrapolates":
        return extrapolates([compare.extrapolation_counts(v, extrapolation) for v in variants])
    if metric.name == "solved":
        return solved(variants)
    if metric.name == "seeds":
        count = sum(len(v.finished) for v in variants)
        return Cell(str(count), count)
    outcome = Metric("exact_match", point_of(results, metric) or extrapolation.point)
    if metric.name == "every_seed":
        return centre(variants, lambda run: metrics.value(run, outcome), "seeds", outcome.name)
    if metric.name == "chosen":
        setting = selection.setting(first, results.spec.tuned) or DASH
        at_edge = selection.at_edge(first, results.spec.tuned)
        return Cell(f"{setting} {EDGE}" if at_edge else setting)
    if metric.name == "tied":
        return _tied(first, outcome)
    if metric.show == "best":
        return _best(variants, metric)
    return centre(variants, lambda run: metrics.value(run, metric), metric.show, metric.name)


def _best(variants: Sequence[Variant], metric: Metric) -> Cell:
    found = best(variants, metric)
    return Cell(number(found, metric.name), found)


def best(variants: Sequence[Variant], metric: Metric) -> Any:
    """Over all seeds and all that was tried, by the test itself; None of nothing."""
    tried = [run for v in variants for c in (v.candidates or (v,)) for run in c.measured]
    found = [v for run in tried if (v := metrics.value(run, metric)) is not None]
    return (min if metric.name in _LOWER_IS_BETTER else max)(found, default=None)


def _tied(variant: Variant, outcome: Metric) -> Cell:
    """The range of the median outcome over the settings that validation does not tell apart."""
    settings = selection.tied(variant)
    found = [
        [v for run in c.measured if (v := metrics.value(run, outcome)) is not None]
        for c in settings
    ]
    middles = [statistics.median(values) for values in found if values]
    if not middles:
        return Cell(DASH)
    return Cell(
        f"{number(min(middles))}–{number(max(middles))} ({len(settings)} of "
        f"{len(variant.candidates)})",
        max(middles) - min(middles),
    )


def number(value: Any, kind: str = "", *, exact: bool = True) -> str:
    """As it is shown. A share that is not 1 is not rounded up to it.

    Args:
      kind: a metric's name.
      exact: False for what is no share, a standard deviation.
    """
    if value is None:
        return DASH
    if isinstance(value, Limit):
        return str(value)
    if kind in _WHOLE:
        return f"{value:,.0f}"
    if kind == "flops":
        return f"{value:.1e}".replace("e+", "e")
    if kind in _SMALL:
        return f"{value:.2g}"
    if exact and 0.995 <= value < 1:
        return f"{min(value, 0.999):.3f}"
    return f"{value:.2f}".replace("-0.00", "0.00").replace("-", "−")


def signed(value: Any) -> str:
    """A difference."""
    return (
        DASH
        if value is None
        else f"{value:+.2f}".replace("-0.00", "0.00").replace("+0.00", "0.00").replace("-", "−")
    )


def p_value(p: Any) -> str:
    return DASH if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def bracket(interval: Interval | None, kind: str = "") -> str:
    """An interval behind its number."""
    return (
        ""
        if interval is None
        else f" [{number(interval.low, kind)}, {number(interval.high, kind)}]"
    )


def intervals_note(counts: Sequence[int], show: str = "median") -> str:
    """What the brackets of centres are, and what they cover, for these numbers of seeds."""
    kind, enough = (
        ("order statistics", statistics.EXACT_FROM)
        if show == "median"
        else ("BCa", statistics.BOOTSTRAP_FROM)
    )
    few, many = (
        sorted({n for n in counts if low <= n < high})
        for low, high in ((1, enough), (enough, 10**9))
    )
    how = (
        "exact, from order statistics of the median"
        if show == "median"
        else "BCa bootstrap of the interquartile mean"
    )
    said = [f"none for {listed(few)}, every one of which is shown"] if few else []
    said += [f"{how} for {listed(many)}{covers(kind, many[0])}"] if many else []
    return f"Intervals [in brackets]: {'; '.join(said)}." if said else ""


def wilson_note(counts: Sequence[int]) -> str:
    """What the brackets of counts are."""
    fewest = min((n for n in counts if n), default=0)
    return (
        f"*extrapolates*: brackets are Wilson intervals{covers('wilson', fewest)}."
        if fewest
        else ""
    )


def covers(kind: str, count: int) -> str:
    """What an interval of so many seeds really covers."""
    found = statistics.coverage(kind, count)
    return (
        ""
        if found is None
        else f" (in simulated studies of {found[0]} seeds they hold the truth in "
        f"{100 * found[1]:.0f} %)"
    )


def listed(counts: Sequence[int], unit: str = "seed") -> str:
    """Return a number of seeds or of pairs, or its range."""
    fewest, most = min(counts), max(counts)
    amount = f"{most}" if fewest == most else f"{fewest} to {most}"
    return f"{amount} {unit}{'s' * (most != 1)}"
