"""Outcomes of the claims of a paper: our numbers, and the verdict of the rule in verdicts.py."""

import dataclasses
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from pe_lab.contrib.papers import sufficiency, verdicts
from pe_lab.contrib.papers.verdicts import FEWEST_SEEDS, TOLERANCE, Verdict
from pe_lab.results import comparable, compare, metrics, selection, statistics, variant_names
from pe_lab.results.statistics import Interval
from pe_lab.results.study import Study
from pe_lab.runs.errors import unknown
from pe_lab.runs.studies.analysis_spec import Claim, Contrast, MetricPoint, MetricSpec

_NOT_READ = "the paper's numbers were not read"
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
        pairs of variants, how many pairs enter it, and how many the claim names; for a mean over
        the first solved seeds, how many these are, and how many were drawn for them.
      is_solved: whether these are enough for a verdict.
      not_compared: why there is no verdict; "" if there may be one.
      opposite: the point where the study has the other sign; None without one.
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
    opposite: MetricPoint | None = None

    @property
    def difference(self) -> float | None:
        """The mean of a - b; None for a claim about a alone and without a shared seed."""
        return statistics.mean([a - b for a, b in self.pairs])

    @property
    def direction(self) -> int:
        """1 or -1 if the interval of a - b excludes 0 and enough seeds solve; 0 otherwise."""
        if self.interval is None or not self.is_solved:
            return 0
        return (self.interval.low > 0) - (self.interval.high < 0)

    @property
    def reason(self) -> str:
        """Why the claim is undecided or depends on the length; "" otherwise."""
        if self.opposite is not None:
            return f"the other way {self.opposite}"
        if self.verdict != "undecided":
            return ""
        if self.not_compared:
            return self.not_compared
        if not self.is_solved:
            fewest = self.claim.first_solved or FEWEST_SEEDS
            return f"fewer than {fewest} seeds solved the training lengths"
        if self.b and self.direction == _sign(self.metric):  # at the authors' size
            is_known = bool(self.claim.figures)
            return f"our difference is not within {TOLERANCE} of theirs" if is_known else _NOT_READ
        return "our numbers do not decide"


def outcomes(study: Study) -> list[Outcome]:
    """Return the outcome of every claim of the spec, for each variant or pair that it names.

    Raises:
      UserError: the study has none.
    """
    chosen = selection.choose(study)
    of_claims = []
    for claim in chosen.spec.reproduction.claims:
        if not claim.b:
            of_claims += [_of_figure(chosen, claim, name) for name in _named(chosen, claim.a)]
            continue
        pairs = compare.pairs(chosen, Contrast(claim.a, claim.b))
        if claim.is_mean:
            of_claims.append(_of_mean(chosen, claim, pairs))
        else:
            of_claims += [_of_pair(chosen, claim, *pair) for pair in pairs]
    readings = [*of_claims, *_of_contrasts(chosen)]
    return [_compared_with(chosen, outcome, readings) for outcome in of_claims]


def _named(study: Study, name: str) -> list[str]:
    names = [name] if name in study.by_name else variant_names.meant(study, name)
    if not names:
        raise unknown("The study (analysis: reproduction)", name, study.by_name)
    return names


def _of_contrasts(study: Study) -> list[Outcome]:
    """Return the outcomes of the declared contrasts, as if each were a claim."""
    of_contrasts = []
    for contrast in study.spec.contrasts:
        claim = Claim("", contrast.a, contrast.b, contrast.point)
        for a, b in compare.pairs(study, contrast):
            of_contrasts += [_of_pair(study, claim, a, b), _of_pair(study, claim, b, a)]
    return of_contrasts


def _compared_with(study: Study, outcome: Outcome, readings: Sequence[Outcome]) -> Outcome:
    """Return an outcome with the verdict that other declared lengths of its variants allow."""
    if not outcome.b or outcome.claim.is_mean or outcome.direction == 0:
        return outcome
    for other in readings:
        point = other.metric.point
        if (other.a, other.b, other.metric.name) != (outcome.a, outcome.b, outcome.metric.name):
            continue
        is_opposite = other.direction == -outcome.direction
        is_beyond = comparable.is_beyond_training(study.by_name[outcome.a], point)
        is_length_alone = point == dataclasses.replace(point, offset=outcome.metric.point.offset)
        if is_opposite and is_beyond and is_length_alone and point != outcome.metric.point:
            return dataclasses.replace(outcome, verdict="depends on the length", opposite=point)
    return outcome


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
    # A claim may be about positions that training shows, as those with a random start are. A figure
    # of the paper's size can be out of reach with no solved seed, too.
    reason = comparable.why_not(
        study,
        a,
        b,
        metric.point,
        seen_positions=True,
        unsolved=study.spec.reproduction.is_authors_size,
    )
    if sufficiency.is_at_chance(study, (a, b), metric):
        reason = "no run is above chance at this length"
    reason = reason or sufficiency.diverged(study, (a, b))
    solved = tuple(sufficiency.num_solved(study, name) for name in (a, b))
    pairs = mean_by_seed(study, [(a, b)], metric)
    is_solved = sufficiency.has_enough_solved(study, (a, b), metric.point)
    if not is_solved:
        reason = reason or sufficiency.few_of_text(study, (a, b))
    return _outcome(study, claim, a, b, pairs, solved, is_solved=is_solved, reason=reason)


def _of_mean(study: Study, claim: Claim, pairs: Sequence[VariantPair]) -> Outcome:
    metric = metric_of(study, claim)
    of_mean = [
        pair
        for pair in pairs
        if sufficiency.has_enough_solved(study, pair, metric.point)
        and not comparable.why_not(study, *pair, metric.point, seen_positions=True)
        and not sufficiency.is_at_chance(study, pair, metric)
    ]
    values = mean_by_seed(study, of_mean, metric)
    counts = (len(of_mean), len(pairs))
    reason = f"no pair is comparable with {FEWEST_SEEDS} solved seeds of both"
    if of_mean:
        reason = sufficiency.diverged(study, [name for pair in of_mean for name in pair])
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
    sign = _sign(metric)
    differences = [a - b for a, b in values]
    difference = statistics.mean(differences)
    # Variants that are not compared have no interval.
    interval = None if reason else compare.of_differences(differences, metric.name)
    result: Verdict = "undecided"
    if difference is not None and interval is not None:
        result = verdicts.verdict(
            sign * difference,
            _signed(interval, sign),
            is_solved=is_solved,
            is_authors_size=study.spec.reproduction.is_authors_size,
            theirs=sign * (claim.figures[0] - claim.figures[1]) if claim.figures else None,
        )
    means = tuple(map(statistics.mean, zip(*values, strict=True))) or (None, None)
    return Outcome(claim, a, b, metric, values, means, interval, solved, is_solved, result, reason)


def _sign(metric: MetricSpec) -> int:
    """Return -1 for a metric whose lower values are better, such as a loss."""
    return -1 if metrics.BY_NAME[metric.name].lower_is_better else 1


def _signed(interval: Interval, sign: int) -> Interval:
    """Return the interval of a number times a sign."""
    return interval if sign > 0 else Interval(-interval.high, -interval.low, interval.kind)


def _of_figure(study: Study, claim: Claim, a: str) -> Outcome:
    metric = metric_of(study, claim)
    of_seeds = compare.by_seed(study, a, metric)
    values = list(of_seeds.values())
    solved: tuple[int, ...] = (sufficiency.num_solved(study, a),)
    is_solved = sufficiency.has_enough_solved(study, (a,), metric.point)
    if claim.first_solved:
        seeds, num_drawn = sufficiency.first_solved(study, a, claim.first_solved)
        values = [of_seeds[seed] for seed in seeds if seed in of_seeds]
        solved, is_solved = (len(seeds), num_drawn), len(seeds) == claim.first_solved
    interval = compare.of_mean(values, metrics.BY_NAME[metric.name].range)
    result: Verdict = "undecided"
    reason = "a number is compared at the authors' size alone"
    if study.spec.reproduction.is_authors_size:
        reason = "" if is_solved else sufficiency.few_of_text(study, (a,))
        left_out = "" if claim.first_solved else sufficiency.diverged(study, (a,))
        reason = left_out or reason
        if interval is not None and not left_out:
            sign = _sign(metric)
            signed, theirs = _signed(interval, sign), sign * claim.figures[0]
            result = verdicts.verdict_on_figure(signed, theirs, is_solved=is_solved)
    means = (statistics.mean(values),)
    return Outcome(claim, a, "", metric, (), means, interval, solved, is_solved, result, reason)


def metric_of(study: Study, claim: Claim) -> MetricSpec:
    """Return the metric of a claim and the point where it is read."""
    point = claim.point or study.spec.extrapolation.point
    return MetricSpec(claim.metric or study.headline, point)
