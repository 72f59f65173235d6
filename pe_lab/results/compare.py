"""The contrasts of an analysis spec.

A difference is a minus b at the point of the contrast, over the seeds that both have. Variants are
not compared if the number would mislead (comparable.py).
"""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

from pe_lab.results import comparable, measured, metrics, selection, significance, statistics
from pe_lab.results.metrics import BITS
from pe_lab.results.results import Results, Variant
from pe_lab.results.statistics import Interval
from pe_lab.runs import analysis_spec
from pe_lab.runs.analysis_spec import Contrast, Extrapolation, MetricPoint, MetricSpec
from pe_lab.runs.errors import unknown


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
      count_p: of Barnard's test of the counts.
      differences: a - b for each shared seed; `difference` is their mean.
      p: of the sign-flip test of the differences.
      correlation: of the values of shared seeds.
      improvement: probability that a run of a is better than one of b.
      reason: why they are not compared; "" if they are.
      margin: of an equivalence, which has no p; None for a contrast of difference.
      count_holm, holm: count_p and p, adjusted over all contrasts of the spec.
      count_decides, decides: whether some outcome of the seeds brings the adjusted p below LEVEL.
    """

    a: Variant
    b: Variant
    metric: MetricSpec
    counts: tuple[Counts, Counts]
    count_p: float | None
    differences: tuple[float, ...]
    difference: float | None
    interval: Interval | None
    p: float | None
    correlation: float | None
    improvement: float | None
    reason: str = ""
    margin: float | None = None
    count_holm: float | None = None
    holm: float | None = None
    count_decides: bool = False
    decides: bool = False


def contrasts(results: Results) -> list[Comparison]:
    """Return every contrast of the spec, for each pair of variants that it names."""
    chosen = selection.chosen(results)
    comparisons = []
    for contrast in results.spec.contrasts:
        for a, b in pairs(chosen, contrast):
            comparison = compare(chosen, a, b, contrast.point)
            if contrast.margin is not None:
                # It tests no difference, so that it does not count for Holm's method either.
                comparison = dataclasses.replace(
                    comparison, margin=contrast.margin, count_p=None, p=None
                )
            comparisons.append(comparison)
    return _adjusted(comparisons)


def _adjusted(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Adjust p values over all contrasts of difference, compared or not."""
    differences = [comparison for comparison in comparisons if comparison.margin is None]
    # Holm's method adjusts the two kinds of tests separately.
    count_holms = iter(significance.holm([c.count_p for c in differences]))
    holms = iter(significance.holm([c.p for c in differences]))
    counts_decide = iter(significance.can_decide([_smallest_count_p(c) for c in differences]))
    pairs_decide = iter(significance.can_decide([_smallest_p(c) for c in differences]))
    adjusted = []
    for comparison in comparisons:
        if comparison.margin is None:
            comparison = dataclasses.replace(
                comparison,
                count_holm=next(count_holms),
                holm=next(holms),
                count_decides=next(counts_decide),
                decides=next(pairs_decide),
            )
        adjusted.append(comparison)
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


def pairs(results: Results, contrast: Contrast) -> list[tuple[Variant, Variant]]:
    """Return the variants of a contrast.

    They are the two with these names, or all pairs with these labels that agree in all others.
    Variants with an evaluation override are compared only if the contrast names an override.

    Raises:
      UserError: there is none.
    """
    by_name = {variant.name: variant for variant in results.variants}
    labels_of = {name: variant.labels for name, variant in by_name.items()}
    as_trained = {variant.name: variant.labels for variant in results.trained}
    matching = analysis_spec.pairs(as_trained, contrast)
    if not matching:
        matching = analysis_spec.pairs(labels_of, contrast)
    if not matching:
        is_a_known = any(analysis_spec.has_labels(of, contrast.a) for of in labels_of.values())
        missing = contrast.b if is_a_known or contrast.a in by_name else contrast.a
        raise unknown("The study (analysis: contrasts)", missing, by_name)
    return [(by_name[a], by_name[b]) for a, b in matching]


def compare(
    results: Results, a: Variant, b: Variant, point: MetricPoint | None = None
) -> Comparison:
    """Compare two variants at a point, by default at the point of extrapolation.

    Their p values are not adjusted.
    """
    extrapolation = results.spec.extrapolation
    if point is not None:
        extrapolation = dataclasses.replace(extrapolation, point=point)
    metric = MetricSpec(BITS if results.has_text else "exact_match", extrapolation.point)
    of_a = by_seed(a, metric)
    of_b = by_seed(b, metric)
    shared = [seed for seed in of_a if seed in of_b]
    values_a = [of_a[seed] for seed in shared]
    values_b = [of_b[seed] for seed in shared]
    differences = tuple(of_a[seed] - of_b[seed] for seed in shared)
    # Every run counts here, and not only pairs with one seed.
    all_a = list(of_a.values())
    all_b = list(of_b.values())
    if metrics.BY_NAME[metric.name].lower_is_better:
        improvement = statistics.improvement(all_b, all_a)
    else:
        improvement = statistics.improvement(all_a, all_b)
    reason = comparable.why_not(results, a, b, extrapolation.point)
    if not reason and not differences:
        reason = "no seed has a number on both sides"
    counts_a = extrapolation_counts(a, extrapolation)
    counts_b = extrapolation_counts(b, extrapolation)
    comparison = Comparison(
        a,
        b,
        metric,
        (counts_a, counts_b),
        count_p=None,
        differences=differences,
        difference=statistics.mean(differences),
        interval=None,
        p=None,
        correlation=statistics.correlation(values_a, values_b),
        improvement=improvement,
        reason=reason,
    )
    if reason:
        return comparison
    count_p = None
    if not results.has_text:
        count_p = significance.barnard(
            (counts_a.extrapolating, counts_a.count),
            (counts_b.extrapolating, counts_b.count),
        )
    return dataclasses.replace(
        comparison,
        count_p=count_p,
        interval=of_differences(differences),
        p=significance.sign_flip(differences),
    )


def by_seed(variant: Variant, metric: MetricSpec) -> dict[tuple[int, int], float]:
    """Return a metric of the runs of a variant by their seeds, without missing values."""
    values = {}
    for run in variant.measured:
        value = measured.value(run, metric)
        if isinstance(value, int | float):
            values[run.seed] = value
    return values


def of_differences(differences: Sequence[float]) -> Interval | None:
    """Return an interval of a mean of pairs: BCa from ten, Student's from five, none below."""
    if len(differences) < statistics.EXACT_FROM:
        return None
    if len(differences) < statistics.BOOTSTRAP_FROM:
        return statistics.t_interval(differences)
    return statistics.bootstrap([differences], lambda values: values.mean(axis=-1))


def extrapolation_counts(variant: Variant, extrapolation: Extrapolation) -> Counts:
    """Count the runs that extrapolate, of the runs with a known outcome."""
    outcomes = [measured.extrapolates(run, extrapolation) for run in variant.measured]
    known = [outcome for outcome in outcomes if outcome is not None]
    count = len(known)
    if known:
        # Finished runs may have been evaluated there later, and a diverged run cannot be.
        for run, outcome in zip(variant.measured, outcomes, strict=True):
            count += outcome is None and run.record["status"] == "diverged"
    return Counts(sum(known), count)
