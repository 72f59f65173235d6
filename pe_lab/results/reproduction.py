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

The interval is Student's t from five pairs of seeds, and BCa from ten (statistics.py). Nothing is
adjusted for the number of claims, because each claim is one that a paper made.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pe_lab.results import comparable, compare, metrics, selection, statistics
from pe_lab.results.compare import Comparison
from pe_lab.results.statistics import Interval
from pe_lab.results.study import Study
from pe_lab.runs.analysis_spec import Claim, Contrast, MetricPoint, MetricSpec

Verdict = Literal["holds at the authors' size", "holds, scaled", "does not hold", "undecided"]

TOLERANCE = 0.1  # between our number and theirs, at the authors' size
FEWEST_SEEDS = 5  # that solve the training lengths


@dataclass(frozen=True)
class Outcome:
    """What our runs say about a claim.

    Attributes:
      a, b: the variants; b is "" if the claim is about a alone.
      point: where the metric is read.
      means: our means of a and b, over the seeds that both have.
      interval: of the mean of a - b, or of a if the claim is about a alone.
      comparison: of a and b; None if the claim is about a alone.
      solved: the number of seeds of a and of b that solve the training lengths.
      is_solved: whether these are enough for a verdict.
    """

    claim: Claim
    a: str
    b: str
    point: MetricPoint
    means: tuple[float | None, ...]
    interval: Interval | None
    comparison: Comparison | None
    solved: tuple[int, ...]
    is_solved: bool
    verdict: Verdict

    @property
    def reason(self) -> str:
        """Why the claim is undecided; "" if it is decided."""
        if self.verdict != "undecided":
            return ""
        if self.comparison is not None and self.comparison.reason:
            return self.comparison.reason
        if not self.is_solved:
            return f"fewer than {FEWEST_SEEDS} seeds solved the training lengths"
        return "our numbers do not decide"


def outcomes(study: Study) -> list[Outcome]:
    """Return the outcome of every claim of the spec, for each pair of variants that it names."""
    chosen = selection.choose(study)
    of_claims = []
    for claim in chosen.spec.reproduction.claims:
        if claim.b:
            for a, b in compare.pairs(chosen, Contrast(claim.a, claim.b)):
                of_claims.append(_of_pair(chosen, claim, a, b))
        else:
            of_claims.append(_of_figure(chosen, claim))
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


def _of_pair(study: Study, claim: Claim, a: str, b: str) -> Outcome:
    point = claim.point or study.spec.extrapolation.point
    # A claim may be about positions that training shows, as those with a random start are.
    compared = compare.compare(study, a, b, point, seen_positions=True)
    sign = -1 if metrics.BY_NAME[compared.metric.name].lower_is_better else 1
    solved = tuple(_solved(study, name) for name in (a, b))
    theirs = sign * (claim.figures[0] - claim.figures[1]) if claim.figures else None
    difference, interval = compared.difference, compared.interval
    is_solved = _is_solved(study, (a, b), point, solved)
    result: Verdict = "undecided"
    # Variants that are not compared have no interval.
    if difference is not None and interval is not None:
        result = verdict(
            sign * difference,
            interval if sign > 0 else Interval(-interval.high, -interval.low, interval.kind),
            is_solved=is_solved,
            is_authors_size=study.spec.reproduction.is_authors_size,
            theirs=theirs,
        )
    return Outcome(
        claim, a, b, point, compared.means, interval, compared, solved, is_solved, result
    )


def _of_figure(study: Study, claim: Claim) -> Outcome:
    point = claim.point or study.spec.extrapolation.point
    values = list(compare.by_seed(study, claim.a, MetricSpec(study.headline, point)).values())
    interval = compare.of_differences(values)
    solved = (_solved(study, claim.a),)
    is_solved = _is_solved(study, (claim.a,), point, solved)
    result: Verdict = "undecided"
    if study.spec.reproduction.is_authors_size:
        result = verdict_on_figure(interval, claim.figures[0], is_solved=is_solved)
    mean = statistics.mean(values)
    return Outcome(claim, claim.a, "", point, (mean,), interval, None, solved, is_solved, result)


def _solved(study: Study, name: str) -> int:
    """Return how many seeds solve the training lengths; all that finished, for a text."""
    row = study.by_name[name]
    return int(row["finished"] if study.has_text else row["solved"])


def _is_solved(
    study: Study, names: Sequence[str], point: MetricPoint, solved: Sequence[int]
) -> bool:
    """Return whether enough seeds solved the training lengths, if the point is beyond these."""
    for name, count in zip(names, solved, strict=True):
        is_beyond = comparable.is_beyond_training(study.by_name[name], point)
        if is_beyond and count < FEWEST_SEEDS:
            return False
    return True
