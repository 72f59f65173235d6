"""The contrasts of an analysis spec.

A difference is a minus b at the point of the contrast, over the seeds that both have. Variants are
not compared if the number would mislead (comparable.py).
"""

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pe_lab.results import (
    comparable,
    metrics,
    selection,
    significance,
    statistics,
    summary,
    variant_names,
)
from pe_lab.results.statistics import Interval
from pe_lab.results.study import Study
from pe_lab.runs.errors import unknown
from pe_lab.runs.studies import analysis_spec
from pe_lab.runs.studies.analysis_spec import Contrast, MetricPoint, MetricSpec


@dataclass(frozen=True)
class Counts:
    """Number of runs of a variant that extrapolate, of the runs with a known outcome."""

    extrapolating: int
    count: int

    @property
    def interval(self) -> Interval | None:
        """Wilson's interval of the rate."""
        return statistics.wilson(self.extrapolating, self.count)

    def __str__(self) -> str:
        return f"{self.extrapolating}/{self.count}"


@dataclass(frozen=True)
class Comparison:
    """The comparison of two variants.

    Attributes:
      a, b: their names.
      pairs: the values of a and b for each shared seed.
      improvement: probability that a run of a is better than one of b.
      reason: why they are not compared; "" if they are.
      count_p: of Barnard's test of the counts.
      interval: of the mean difference.
      p: of the sign-flip test of the differences.
      margin: of an equivalence, which has no p; None for a contrast of difference.
      count_holm, holm: count_p and p, adjusted over all contrasts of the spec.
      count_decides, decides: whether some outcome of the seeds brings the adjusted p below LEVEL.
    """

    a: str
    b: str
    metric: MetricSpec
    counts: tuple[Counts, Counts]
    pairs: tuple[tuple[float, float], ...]
    improvement: float | None
    reason: str = ""
    count_p: float | None = None
    interval: Interval | None = None
    p: float | None = None
    margin: float | None = None
    count_holm: float | None = None
    holm: float | None = None
    count_decides: bool = False
    decides: bool = False

    @property
    def differences(self) -> tuple[float, ...]:
        """The values of a - b for each shared seed."""
        return tuple(a - b for a, b in self.pairs)

    @property
    def difference(self) -> float | None:
        """The mean difference; None without a shared seed."""
        return statistics.mean(self.differences)

    @property
    def means(self) -> tuple[float | None, ...]:
        """The means of a and b over the shared seeds."""
        return tuple(map(statistics.mean, self._sides))

    @property
    def correlation(self) -> float | None:
        """The correlation of a and b over the shared seeds."""
        return statistics.correlation(*self._sides)

    @property
    def _sides(self) -> tuple[list[float], list[float]]:
        return [a for a, _ in self.pairs], [b for _, b in self.pairs]


def contrasts(study: Study) -> list[Comparison]:
    """Return every contrast of the spec, for each pair of variants that it names."""
    chosen = selection.choose(study)
    comparisons = []
    for contrast in study.spec.contrasts:
        for a, b in pairs(chosen, contrast):
            comparison = compare(
                chosen, a, b, contrast.point, seen_positions=contrast.seen_positions
            )
            if contrast.margin is not None:
                # It tests no difference, so that it does not count for Holm's method either.
                comparison = dataclasses.replace(
                    comparison, margin=contrast.margin, count_p=None, p=None
                )
            comparisons.append(comparison)
    return _adjusted(comparisons)


def _adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Adjust p values over all contrasts of difference, compared or not."""
    tested = {index: c for index, c in enumerate(comparisons) if c.margin is None}
    # Holm's method adjusts the two kinds of tests separately.
    columns = zip(
        tested,
        significance.holm([c.count_p for c in tested.values()]),
        significance.holm([c.p for c in tested.values()]),
        significance.can_decide([_smallest_count_p(c) for c in tested.values()]),
        significance.can_decide([_smallest_p(c) for c in tested.values()]),
        strict=True,
    )
    adjusted = list(comparisons)
    for index, count_holm, holm, count_decides, decides in columns:
        adjusted[index] = dataclasses.replace(
            tested[index],
            count_holm=count_holm,
            holm=holm,
            count_decides=count_decides,
            decides=decides,
        )
    return adjusted


def _smallest_count_p(comparison: Comparison) -> float | None:
    if comparison.count_p is None:
        return None
    a, b = comparison.counts
    return significance.smallest_p_of_counts(a.count, b.count)


def _smallest_p(comparison: Comparison) -> float | None:
    if comparison.p is None:
        return None
    return significance.smallest_p_of_pairs(len(comparison.differences))


def pairs(study: Study, contrast: Contrast) -> list[tuple[str, str]]:
    """Return the names of the variants of a contrast.

    They are the two with these names, or all pairs with these labels that agree in all others.
    Variants with an evaluation override are compared only if the contrast names an override.

    Raises:
      UserError: there is none.
    """
    labels_of = {name: variant_names.labels(study, name) for name in study.by_name}
    as_trained = {name: labels_of[name] for name in study.trained.index}
    matching = analysis_spec.pairs(as_trained, contrast)
    if not matching:
        matching = analysis_spec.pairs(labels_of, contrast)
    if not matching:
        is_a_known = any(analysis_spec.has_labels(of, contrast.a) for of in labels_of.values())
        missing = contrast.b if is_a_known or contrast.a in labels_of else contrast.a
        raise unknown("The study (analysis: contrasts)", missing, labels_of)
    return matching


def compare(
    study: Study,
    a: str,
    b: str,
    point: MetricPoint | None = None,
    *,
    seen_positions: bool = False,
) -> Comparison:
    """Compare two variants at a point, by default at the point of extrapolation.

    Their p values are not adjusted. With `seen_positions`, they are compared even if training
    showed one of them the positions of the test.
    """
    point = point or study.spec.extrapolation.point
    metric = MetricSpec(study.headline, point)
    of_a = by_seed(study, a, metric)
    of_b = by_seed(study, b, metric)
    shared = tuple((of_a[seed], of_b[seed]) for seed in of_a if seed in of_b)
    # Every run counts here, and not only pairs with one seed.
    better, worse = list(of_a.values()), list(of_b.values())
    if metrics.BY_NAME[metric.name].lower_is_better:
        better, worse = worse, better
    counts = extrapolation_counts(study, (a, b), point)
    comparison = Comparison(
        a,
        b,
        metric,
        counts=(counts[a], counts[b]),
        pairs=shared,
        improvement=statistics.improvement(better, worse),
    )
    reason = comparable.why_not(study, a, b, point, seen_positions=seen_positions)
    if not reason and not shared:
        reason = "no seed has a number on both sides"
    if reason:
        return dataclasses.replace(comparison, reason=reason)
    count_p = None
    if not study.by_name[a]["has_text"]:  # it has nothing to solve
        count_p = significance.barnard(
            (counts[a].extrapolating, counts[a].count), (counts[b].extrapolating, counts[b].count)
        )
    return dataclasses.replace(
        comparison,
        count_p=count_p,
        interval=of_differences(comparison.differences, metric.name),
        p=significance.sign_flip(comparison.differences),
    )


def by_seed(study: Study, name: str, metric: MetricSpec) -> dict[tuple[int, int], float]:
    """Return a metric of the runs of a variant by their seeds, without missing values."""
    values = summary.values_at(study, study.cases_of(name), metric.name, metric.point)
    known = values.dropna(subset="value")
    seeds = zip(known["seed"].tolist(), known["data_seed"].tolist(), strict=True)
    return dict(zip(seeds, known["value"].tolist(), strict=True))


def of_differences(differences: Sequence[float], metric: str) -> Interval | None:
    """Return an interval of a mean difference of a metric, within its possible range."""
    return of_mean(differences, metrics.range_of_difference(metric))


def of_mean(values: Sequence[float], limits: tuple[float, float]) -> Interval | None:
    """Return an interval of a mean: BCa from ten values, Student's from five, none below.

    Args:
      limits: the smallest and the largest possible mean.
    """
    if len(values) < statistics.EXACT_FROM:
        return None
    if len(values) < statistics.BOOTSTRAP_FROM:
        return statistics.t_interval(values, limits)
    # Means of resampled values are within the limits by themselves.
    return statistics.bootstrap([values], lambda resampled: resampled.mean(axis=-1))


def extrapolation_counts(
    study: Study, names: Collection[str] | None = None, point: MetricPoint | None = None
) -> dict[str, Counts]:
    """Count the runs of variants that extrapolate at a point, of those with a known outcome.

    Args:
      names: of the variants; None: all.
      point: None: the point of extrapolation.
    """
    names = study.by_name if names is None else names
    cases = study.cases[study.cases["variant"].isin(names)]
    point = point or study.spec.extrapolation.point
    outcomes = summary.values_at(study, cases, "extrapolates", point)
    cells = summary.summarize(outcomes, ["variant"], show="count")
    counts = {}
    for name in names:
        cell = cells.of(name)
        counts[name] = Counts(int(cell.value or 0), cell.count)
    return counts
