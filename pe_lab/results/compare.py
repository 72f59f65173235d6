"""The contrasts of an analysis spec, and the reasons why variants are not compared.

A difference is a minus b at the point of the contrast, over the seeds that both have. Variants are
not compared if the number would mislead:

    target      the positions or the layout of one of them reveal the target length
    positions   training showed one of them the positions of the test, though no example that long
    length      one of them was trained on that length
    not solved  the point is beyond training, and no seed of one of them solved the training lengths
"""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pe_lab.results import measured, metrics, selection, significance, statistics
from pe_lab.results.metrics import BITS
from pe_lab.results.results import Results, Variant
from pe_lab.results.statistics import Interval
from pe_lab.runs.analysis_spec import Contrast, Extrapolation, MetricPoint, MetricSpec, parts
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
            comparisons.append(compare(chosen, a, b, contrast.point))
    count_ps = [comparison.count_p for comparison in comparisons]
    ps = [comparison.p for comparison in comparisons]
    of_counts, of_pairs = [], []
    for comparison in comparisons:
        # A contrast that is not compared is no test, and does not count for Holm's method.
        counts = [side.count for side in comparison.counts]
        is_tested = comparison.count_p is not None
        of_counts.append(significance.smallest_p_of_counts(*counts) if is_tested else None)
        is_tested = comparison.p is not None
        num_pairs = len(comparison.differences)
        of_pairs.append(significance.smallest_p_of_pairs(num_pairs) if is_tested else None)
    adjusted = zip(
        comparisons,
        significance.holm(count_ps),
        significance.holm(ps),
        significance.can_decide(of_counts),
        significance.can_decide(of_pairs),
        strict=True,
    )
    return [
        dataclasses.replace(
            comparison,
            count_holm=count_holm,
            holm=holm,
            count_decides=count_decides,
            decides=decides,
        )
        for comparison, count_holm, holm, count_decides, decides in adjusted
    ]


def pairs(results: Results, contrast: Contrast) -> list[tuple[Variant, Variant]]:
    """Return the variants of a contrast.

    They are the two with these names, or all pairs with these labels that agree in all others.

    Raises:
      UserError: there is none.
    """
    by_name = {variant.name: variant for variant in results.variants}
    if contrast.a in by_name and contrast.b in by_name:
        return [(by_name[contrast.a], by_name[contrast.b])]
    left, right = with_labels(results, contrast.a), with_labels(results, contrast.b)
    matching = [
        (a, b)
        for a, b in itertools.product(left, right)
        if a is not b and _agree_otherwise(a, b, contrast)
    ]
    if not matching:
        missing = contrast.b if contrast.a in by_name or left else contrast.a
        raise unknown("The study (analysis: contrasts)", missing, by_name)
    return matching


def with_labels(results: Results, name: str) -> list[Variant]:
    """Return the variants that have all labels of a name."""
    labels = set(parts(name))
    return [variant for variant in results.variants if labels <= set(variant.labels.values())]


def _agree_otherwise(a: Variant, b: Variant, contrast: Contrast) -> bool:
    """Return whether the labels of both are equal on all axes that neither side names."""
    named_a = {axis for axis, label in a.labels.items() if label in parts(contrast.a)}
    named_b = {axis for axis, label in b.labels.items() if label in parts(contrast.b)}
    named = named_a | named_b
    rest_a = {axis: label for axis, label in a.labels.items() if axis not in named}
    rest_b = {axis: label for axis, label in b.labels.items() if axis not in named}
    return rest_a == rest_b


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
    of_a, of_b = by_seed(a, metric), by_seed(b, metric)
    shared = [seed for seed in of_a if seed in of_b]
    left, right = [of_a[seed] for seed in shared], [of_b[seed] for seed in shared]
    differences = tuple(x - y for x, y in zip(left, right, strict=True))
    improvement = statistics.improvement(list(of_a.values()), list(of_b.values()))
    if metrics.BY_NAME[metric.name].lower_is_better:
        improvement = statistics.improvement(list(of_b.values()), list(of_a.values()))
    reason = _why_not(results, a, b, extrapolation)
    if not reason and not differences:
        reason = "no seed has a number on both sides"
    counts = extrapolation_counts(a, extrapolation), extrapolation_counts(b, extrapolation)
    comparison = Comparison(
        a,
        b,
        metric,
        counts,
        count_p=None,
        differences=differences,
        difference=statistics.mean(differences),
        interval=None,
        p=None,
        correlation=statistics.correlation(left, right),
        improvement=improvement,
        reason=reason,
    )
    if reason:
        return comparison
    count_p = None
    if not results.has_text:
        successes = [(side.extrapolating, side.count) for side in counts]
        count_p = significance.barnard(*successes)
    return dataclasses.replace(
        comparison,
        count_p=count_p,
        interval=of_differences(differences),
        p=significance.sign_flip(differences),
    )


def by_seed(variant: Variant, metric: MetricSpec) -> dict[tuple[int, int], float]:
    """Return a metric of the runs of a variant by their seeds, without missing values."""
    values = {run.seed: measured.value(run, metric) for run in variant.measured}
    return {seed: value for seed, value in values.items() if isinstance(value, int | float)}


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
    return Counts(outcomes.count(True), len(outcomes) - outcomes.count(None))


def apart(results: Results, variant: Variant, point: MetricPoint) -> tuple[str, ...]:
    """Return what sets a variant apart from others at a point, so that they are not ranked."""
    length = point.length_for(variant.max_length)
    reasons = []
    if variant.reveals_target_length:
        reasons.append("reveals the target length")
    if saw_positions(results, variant, point):
        reasons.append("saw the positions of the test")
    if length is not None and length <= variant.max_length:
        reasons.append("was trained on that length")
    return tuple(reasons)


def saw_positions(results: Results, variant: Variant, point: MetricPoint) -> bool:
    """Return whether training showed positions as large as those of a test beyond its lengths.

    Records hold the largest position of training. The largest one of the test is computed from
    variants of the same task, layout and training length with contiguous positions: they have as
    many positions for a unit of length as the test. False without such variants. For a range of
    lengths, the longest measured one counts.
    """
    contiguous = [
        other.max_position
        for other in results.variants
        if other.max_position is not None
        and _is_contiguous(other)
        and _has_same_input(other, variant)
    ]
    length = point.length_for(variant.max_length)
    if point.lengths:
        length = min(point.lengths[1], results.lengths[-1])
    if length is None or not contiguous or variant.max_position is None:
        return False
    if not 0 < variant.max_length < length:
        return False
    smallest = min(contiguous)
    largest_in_test = (smallest + 1) * length / variant.max_length - 1 + point.offset
    return variant.max_position > smallest and variant.max_position >= largest_in_test


def _is_contiguous(variant: Variant) -> bool:
    for record in variant.finished:
        config = record["config"]
        if config["positions"]["name"] != "contiguous":
            return False
        if config["layout"]["examples_per_context"] != 1:
            return False
    return True


def _has_same_input(a: Variant, b: Variant) -> bool:
    if not a.finished or not b.finished or a.max_length != b.max_length:
        return False
    one, other = a.finished[0]["config"], b.finished[0]["config"]
    same_layout: bool = one["layout"]["name"] == other["layout"]["name"]
    return same_layout and one["task"] == other["task"]


def _why_not(results: Results, a: Variant, b: Variant, extrapolation: Extrapolation) -> str:
    """Return why two variants are not compared; "" if they are."""
    point = extrapolation.point
    for variant in (a, b):
        if not variant.finished:
            return f"{variant.name} has no finished run"
    apart_a, apart_b = set(apart(results, a, point)), set(apart(results, b, point))
    for variant, reasons in ((a, apart_a - apart_b), (b, apart_b - apart_a)):
        if reasons:
            return f"{variant.name} {min(reasons)}"
    for variant in (a, b):
        if not variant.solved and not results.has_text and _beyond_training(variant, point):
            return f"{variant.name} did not solve the training lengths with any seed"
    return ""


def _beyond_training(variant: Variant, point: MetricPoint) -> bool:
    length = point.length_for(variant.max_length)
    return bool(point.offset) or length is None or length > variant.max_length
