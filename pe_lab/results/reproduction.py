"""Verdicts on the claims of a paper, by a rule that was committed before the runs.

    holds at the authors' size   a is better than b, the 95 % interval of a - b excludes 0, models,
                                 lengths and steps are the authors', and our mean difference is
                                 within 0.1 of theirs
    holds, scaled                the sign and the interval agree, at a smaller size
    does not hold                the interval excludes 0, and b is better than a
    undecided                    anything else, and beyond the training lengths whenever fewer than
                                 five seeds of a or of b solved these

A claim about one variant alone is a figure, at the authors' size. It holds if the whole 95 %
interval of our mean is within 0.1 of the figure, and does not hold if the whole interval is further
away.

A claim about a mean over pairs of variants, such as one pair for each task, is tested on the mean
over the pairs that are comparable and that five seeds of a and of b solved, over the seeds that all
of these have.

The interval is Student's t from five pairs of seeds, and BCa from ten (statistics.py). Nothing is
adjusted for the number of claims, because each claim is one that a paper made.
"""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pe_lab.results import comparable, compare, metrics, selection, statistics
from pe_lab.results.statistics import Interval
from pe_lab.results.study import Study
from pe_lab.runs.analysis_spec import Claim, Contrast, MetricPoint, MetricSpec

Verdict = Literal["holds at the authors' size", "holds, scaled", "does not hold", "undecided"]

TOLERANCE = 0.1  # between our number and theirs, at the authors' size
FEWEST_SEEDS = 5  # that solve the training lengths
VariantPair = tuple[str, str]  # the names of two variants


@dataclass(frozen=True)
class Outcome:
    """What our runs say about a claim.

    Attributes:
      a, b: the variants, or the labels of a mean over pairs; b is "" for a claim about a alone.
      metric: the metric, and the point where it is read.
      pairs: the numbers of a and b for each seed that both have; for a mean over pairs of variants,
        the means, for each seed that all variants have; () for a claim about a alone.
      means: our means of a and b over these seeds.
      interval: of the mean of a - b, or of a if the claim is about a alone.
      solved: the number of seeds of a and of b that solve the training lengths; for a mean over
        pairs of variants, how many pairs enter it, and how many the claim names.
      is_solved: whether these are enough for a verdict.
      not_compared: why a and b are not compared; "" if they are.
    """

    claim: Claim
    a: str
    b: str
    metric: MetricSpec
    pairs: tuple[tuple[float, float], ...]
    means: tuple[float | None, ...]
    interval: Interval | None
    solved: tuple[int, ...]
    is_solved: bool
    verdict: Verdict
    not_compared: str = ""

    @property
    def difference(self) -> float | None:
        """The mean of a - b; None for a claim about a alone and without a shared seed."""
        return statistics.mean([a - b for a, b in self.pairs])

    @property
    def reason(self) -> str:
        """Why the claim is undecided; "" if it is decided."""
        if self.verdict != "undecided":
            return ""
        if self.not_compared:
            return self.not_compared
        if not self.is_solved:
            return f"fewer than {FEWEST_SEEDS} seeds solved the training lengths"
        return "our numbers do not decide"


def outcomes(study: Study) -> list[Outcome]:
    """Return the outcome of every claim of the spec, for each pair of variants that it names."""
    chosen = selection.choose(study)
    of_claims = []
    for claim in chosen.spec.reproduction.claims:
        if not claim.b:
            of_claims.append(_of_figure(chosen, claim))
            continue
        pairs = compare.pairs(chosen, Contrast(claim.a, claim.b))
        if claim.is_mean:
            of_claims.append(_of_mean(chosen, claim, pairs))
        else:
            of_claims += [_of_pair(chosen, claim, *pair) for pair in pairs]
    return of_claims


def verdict(
    difference: float,
    interval: Interval | None,
    *,
    is_solved: bool,
    is_authors_size: bool,
    theirs: float | None,
) -> Verdict:
    """Return the verdict on the claim that a difference is above 0.

    Args:
      difference, interval: ours; above 0 if a is better than b.
      is_solved: whether enough seeds of both solved the training lengths.
      theirs: the paper's difference; None if none was read.
    """
    if interval is None or not is_solved or interval.low <= 0 <= interval.high:
        return "undecided"
    if difference < 0:
        return "does not hold"
    if not is_authors_size:
        return "holds, scaled"
    is_near = theirs is not None and abs(difference - theirs) <= TOLERANCE
    return "holds at the authors' size" if is_near else "undecided"


def verdict_on_figure(interval: Interval | None, theirs: float, *, is_solved: bool) -> Verdict:
    """Return the verdict on a figure of the paper, from the interval of our mean."""
    if interval is None or not is_solved:
        return "undecided"
    low, high = interval.low - theirs, interval.high - theirs
    if low >= -TOLERANCE and high <= TOLERANCE:
        return "holds at the authors' size"
    if low > TOLERANCE or high < -TOLERANCE:
        return "does not hold"
    return "undecided"


def mean_by_seed(
    study: Study, pairs: Sequence[VariantPair], metric: MetricSpec
) -> tuple[tuple[float, float], ...]:
    """Return the means of a metric over the first and over the second variants of some pairs.

    One row for each seed that all variants have. () without a pair.
    """
    if not pairs:
        return ()
    sides = []
    for names in zip(*pairs, strict=True):
        sides.append([compare.by_seed(study, name, metric) for name in names])
    every = list(itertools.chain(*sides))
    seeds = [seed for seed in every[0] if all(seed in scores for scores in every)]
    rows = []
    for seed in seeds:
        a, b = (sum(scores[seed] for scores in side) / len(side) for side in sides)
        rows.append((a, b))
    return tuple(rows)


def _of_pair(study: Study, claim: Claim, a: str, b: str) -> Outcome:
    metric = metric_of(study, claim)
    # A claim may be about positions that training shows, as those with a random start are.
    reason = comparable.why_not(study, a, b, metric.point, seen_positions=True)
    solved = tuple(_num_solved(study, name) for name in (a, b))
    pairs = mean_by_seed(study, [(a, b)], metric)
    is_solved = _has_enough_solved(study, (a, b), metric.point)
    return _outcome(study, claim, a, b, pairs, solved, is_solved=is_solved, reason=reason)


def _of_mean(study: Study, claim: Claim, pairs: Sequence[VariantPair]) -> Outcome:
    metric = metric_of(study, claim)
    of_mean = [
        pair
        for pair in pairs
        if _has_enough_solved(study, pair, metric.point)
        and not comparable.why_not(study, *pair, metric.point, seen_positions=True)
    ]
    values = mean_by_seed(study, of_mean, metric)
    counts = (len(of_mean), len(pairs))
    reason = "" if of_mean else f"no pair is comparable with {FEWEST_SEEDS} solved seeds of both"
    is_solved = bool(of_mean)
    return _outcome(
        study, claim, claim.a, claim.b, values, counts, is_solved=is_solved, reason=reason
    )


def _outcome(
    study: Study,
    claim: Claim,
    a: str,
    b: str,
    values: tuple[tuple[float, float], ...],
    solved: tuple[int, ...],
    *,
    is_solved: bool,
    reason: str = "",
) -> Outcome:
    metric = metric_of(study, claim)
    if not reason and is_solved and len(values) < statistics.EXACT_FROM:
        reason = f"fewer than {statistics.EXACT_FROM} seeds have a number on both sides"
    sign = -1 if metrics.BY_NAME[metric.name].lower_is_better else 1
    differences = [a - b for a, b in values]
    difference = statistics.mean(differences)
    # Variants that are not compared have no interval.
    interval = None if reason else compare.of_differences(differences, metric.name)
    result: Verdict = "undecided"
    if difference is not None and interval is not None:
        result = verdict(
            sign * difference,
            interval if sign > 0 else Interval(-interval.high, -interval.low, interval.kind),
            is_solved=is_solved,
            is_authors_size=study.spec.reproduction.is_authors_size,
            theirs=sign * (claim.figures[0] - claim.figures[1]) if claim.figures else None,
        )
    means = tuple(map(statistics.mean, zip(*values, strict=True))) or (None, None)
    return Outcome(claim, a, b, metric, values, means, interval, solved, is_solved, result, reason)


def _of_figure(study: Study, claim: Claim) -> Outcome:
    metric = metric_of(study, claim)
    values = list(compare.by_seed(study, claim.a, metric).values())
    interval = compare.of_mean(values, metrics.BY_NAME[metric.name].range)
    is_solved = _has_enough_solved(study, (claim.a,), metric.point)
    result: Verdict = "undecided"
    reason = "a number is compared at the authors' size alone"
    if study.spec.reproduction.is_authors_size:
        reason = ""
        result = verdict_on_figure(interval, claim.figures[0], is_solved=is_solved)
    means = (statistics.mean(values),)
    solved = (_num_solved(study, claim.a),)
    return Outcome(
        claim, claim.a, "", metric, (), means, interval, solved, is_solved, result, reason
    )


def metric_of(study: Study, claim: Claim) -> MetricSpec:
    """Return the metric of a claim and the point where it is read."""
    point = claim.point or study.spec.extrapolation.point
    return MetricSpec(claim.metric or study.headline, point)


def _num_solved(study: Study, name: str) -> int:
    """Return how many seeds solve the training lengths; all that finished, for a text."""
    row = study.by_name[name]
    return int(row["finished"] if study.has_text else row["solved"])


def _has_enough_solved(study: Study, names: Sequence[str], point: MetricPoint) -> bool:
    """Return whether enough seeds solved the training lengths, if the point is beyond these."""
    for name in names:
        is_beyond = comparable.is_beyond_training(study.by_name[name], point)
        if is_beyond and _num_solved(study, name) < FEWEST_SEEDS:
            return False
    return True
