"""The text and the value of one cell: a center over seeds with its interval, a count, a setting."""

import dataclasses
import itertools
from collections.abc import Sequence
from statistics import median_low

from pe_lab.metrics.base import LengthMetric, Limit, Value
from pe_lab.results import (
    comparable,
    compare,
    kaplan_meier,
    measured,
    metrics,
    notes,
    selection,
    statistics,
)
from pe_lab.results.formats import DASH, Cell
from pe_lab.results.metrics import BITS
from pe_lab.results.results import Results, Variant
from pe_lab.results.statistics import Interval
from pe_lab.runs.analysis_spec import Extrapolation, MetricPoint, MetricSpec
from pe_lab.runs.first_steps import FirstStep


def name(results: Results, variant: Variant) -> Cell:
    """The name of a variant, with the signs that apply at the point of extrapolation."""
    parts = [variant.name]
    if variant.reveals_target_length:
        parts.append(notes.REVEALS)
    if comparable.saw_positions(results, variant, results.spec.extrapolation.point):
        parts.append(notes.SEEN)
    return Cell(" ".join(parts))


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
    if not entry.at_extrapolation:
        return None
    if point.offset:
        return dataclasses.replace(extrapolation, offset=point.offset)
    return extrapolation


def center(variants: Sequence[Variant], metric: MetricSpec) -> Cell:
    """The center of a metric over the seeds of a variant, or of one variant for each task."""
    if metric.show == "seeds":
        return _every_seed(variants, metric)
    strata = [measured.values(variant.measured, metric) for variant in variants]
    values = list(itertools.chain(*strata))
    point = middle(values, metric.show)
    if point is None:
        return Cell(DASH)
    if isinstance(point, Limit):
        return Cell(str(point), point.length)
    if isinstance(point, FirstStep):
        bounds = kaplan_meier.interval(_first_steps(values))
        text = str(point)
        if bounds is not None:
            first, last = bounds
            text += f" [{first}, {last}]"
        return Cell(text, point.step)
    text = number(point, metric.name)
    if metric.show == "mean":
        spread = statistics.deviation(_numbers(values))
        if spread is not None:
            text += f" ± {number(spread, metric.name, exact=False)}"
        return Cell(text, point)
    numbers_of_strata = [_numbers(stratum) for stratum in strata]
    interval = _interval(variants, numbers_of_strata, metric)
    return Cell(text + bracket(interval, metric.name), point)


def _every_seed(variants: Sequence[Variant], metric: MetricSpec) -> Cell:
    """The value of every run. A run without a value has a dash, so that none is left out."""
    texts = []
    for variant in variants:
        for run in variant.measured:
            value = measured.value(run, metric)
            texts.append(number(value, metric.name))
    return Cell(" ".join(texts) or DASH)


def middle(values: Sequence[Value], show: str) -> Value | None:
    """Return a center: mean, iqm, or else the median; None without values."""
    if not values:
        return None
    # All values of a metric have the same type.
    limits = [value for value in values if isinstance(value, Limit)]
    if limits:
        # There is no limit between the two middle ones of an even count.
        return median_low(limits)
    first_steps = _first_steps(values)
    if first_steps:
        return kaplan_meier.median(first_steps)
    numbers = _numbers(values)
    if show == "mean":
        return statistics.mean(numbers)
    if show == "iqm":
        return float(statistics.interquartile_mean(numbers))
    return statistics.median(numbers)


def _numbers(values: Sequence[Value]) -> list[int | float]:
    return [value for value in values if isinstance(value, int | float)]


def _first_steps(values: Sequence[Value]) -> list[FirstStep]:
    return [value for value in values if isinstance(value, FirstStep)]


def _interval(
    variants: Sequence[Variant], strata: Sequence[Sequence[int | float]], metric: MetricSpec
) -> Interval | None:
    """Return the interval that this number of seeds allows."""
    is_single = len(variants) == 1
    if metric.show == "median":
        # Order statistics have no form for several strata.
        return statistics.order_statistics(strata[0]) if is_single else None
    if is_single and len(variants[0].candidates) > 1:
        num_compared = len(selection.chosen_candidate(variants[0]).runs)
        # Choosing by validation varies with the seeds, too. After a tuning in two stages, most
        # seeds have the chosen setting only, and the interval takes it as given.
        if num_compared == len(variants[0].runs):
            return selection.interval(variants[0], metric)
    if min(map(len, strata)) < statistics.BOOTSTRAP_FROM:
        return None
    return statistics.bootstrap(strata, statistics.interquartile_mean)


def _extrapolates(variants: Sequence[Variant], criterion: Extrapolation) -> Cell:
    """The number of runs that extrapolate, of the known outcomes."""
    counts = [compare.extrapolation_counts(variant, criterion) for variant in variants]
    successes = sum(of_variant.extrapolating for of_variant in counts)
    total = sum(of_variant.count for of_variant in counts)
    if not total:
        return Cell(DASH)
    # The rates of several tasks are not one rate, so they have no interval.
    interval = counts[0].interval if len(counts) == 1 else None
    return Cell(f"{successes}/{total}{bracket(interval)}", successes)


def _solved(variants: Sequence[Variant]) -> Cell:
    """The number of runs that are solved, and of runs that did not finish."""
    statuses = [record["status"] for variant in variants for record in variant.runs]
    count = sum(variant.solved for variant in variants)
    text = f"{count}/{len(statuses)}"
    if statuses and all(variant.is_unsolved for variant in variants):
        text += " not solved"
    if all(variant.has_text for variant in variants):
        text = DASH
    for status in ("diverged", "failed"):
        if status in statuses:
            text += f", {statuses.count(status)} {status}"
    return Cell(text, count)


def measure(results: Results, variants: Sequence[Variant], metric: MetricSpec) -> Cell:
    """A metric over the seeds of variants, or a count of their runs."""
    spec = results.spec
    first = variants[0]  # settings are chosen for one variant
    if metric.name == "extrapolates":
        return _extrapolates(variants, spec.extrapolation)
    if metric.name == "solved":
        return _solved(variants)
    if metric.name == "seeds":
        count = sum(len(variant.finished) for variant in variants)
        return Cell(str(count), count)
    if metric.name == "chosen":
        setting = selection.setting(first, spec.tuned) or DASH
        at_edge = selection.at_edge(first, spec.tuned)
        return Cell(f"{setting} {notes.EDGE}" if at_edge else setting)
    point = point_of(results, metric) or spec.extrapolation.point
    if metric.name == "every_seed":
        return center(variants, MetricSpec("exact_match", point, "seeds"))
    if metric.name == "tied":
        return _tied(first, MetricSpec(BITS if results.has_text else "exact_match", point))
    if metric.show == "best":
        value = best(variants, metric)
        unrounded = value.length if isinstance(value, Limit) else value
        return Cell(number(value, metric.name), unrounded)
    return center(variants, metric)


def best(variants: Sequence[Variant], metric: MetricSpec) -> int | float | Limit | None:
    """Return the best test value over all seeds and all settings that were tried."""
    values: list[int | float | Limit] = []
    for variant in variants:
        for candidate in variant.candidates or (variant,):
            of_runs = measured.values(candidate.measured, metric)
            values += [value for value in of_runs if isinstance(value, int | float | Limit)]
    choose = min if metrics.BY_NAME[metric.name].lower_is_better else max
    return choose(values, default=None)


def _tied(variant: Variant, metric: MetricSpec) -> Cell:
    """The range of a metric's median over the settings that validation does not separate."""
    settings = selection.tied(variant)
    medians = []
    for candidate in settings:
        median = middle(measured.values(candidate.measured, metric), "median")
        if isinstance(median, int | float):
            medians.append(median)
    if not medians:
        return Cell(DASH)
    low, high = min(medians), max(medians)
    amount = f"{len(settings)} of {len(variant.candidates)}"
    ends = f"{number(low, metric.name)}–{number(high, metric.name)}"
    return Cell(f"{ends} ({amount})", high - low)


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
        # Two digits would say that every answer is right.
        return f"{min(value, 0.999):.3f}"
    text = f"{value:.2f}".replace("-0.00", "0.00")
    return text.replace("-", "−")


def signed(value: float | None) -> str:
    """Return the text of a difference."""
    if value is None:
        return DASH
    text = f"{value:+.2f}"
    if text in ("+0.00", "-0.00"):  # zero has no sign
        return "0.00"
    return text.replace("-", "−")


def p_value(p: float | None) -> str:
    """Return the text of a p value."""
    if p is None:
        return DASH
    if p < 0.001:
        return "< 0.001"
    digits = 3 if p < 0.1 else 2
    return f"{p:.{digits}f}"


def bracket(interval: Interval | None, kind: str = "") -> str:
    """Return an interval as it follows its number."""
    if interval is None:
        return ""
    low = number(interval.low, kind)
    high = number(interval.high, kind)
    return f" [{low}, {high}]"
