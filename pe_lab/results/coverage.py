"""How often each interval holds the truth, in simulated studies whose truth is known, by number of seeds.

Two worlds: in one, seeds fall into two groups, as they do (six of ten extend and are near 1, the others near 0); in the other
they vary around one value. Rates of extrapolation are counted exactly, over all rates from 0.05 to 0.95. `python -m
experiments.document --coverage` makes the record, docs/statistics.md shows it, and statistics.MEASURED is its part that tables say.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from pe_lab.results import statistics
from pe_lab.results.statistics import Interval

SEEDS = (3, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30)
WORLDS = {  # weight, and the two parameters of a beta distribution, of each group
    "two groups": ((0.6, 40.0, 1.5), (0.4, 1.0, 8.0)),
    "one group": ((1.0, 8.0, 3.0),),
}
STUDIES = 2000
_GRID = 200_001


def _mean(values: Any) -> Any:
    return np.mean(values, axis=-1)


INTERVALS: dict[
    str, tuple[str, Callable[[list[float]], Interval | None]]
] = {  # name -> what it is of, and how it is made
    "order statistics": ("median", statistics.order_statistics),
    "t": ("mean", statistics.t_interval),
    "percentile bootstrap": (
        "mean",
        lambda values: statistics.bootstrap([values], _mean, corrected=False),
    ),
    "BCa": (
        "interquartile mean",
        lambda values: statistics.bootstrap([values], statistics.interquartile_mean),
    ),
}


def simulate(seeds: Any = SEEDS, studies: int = STUDIES) -> dict[str, Any]:
    """The record: by interval, world and number of seeds, the share of studies whose interval holds the truth."""
    found: dict[str, Any] = {
        "studies": studies,
        "worlds": {name: [list(part) for part in parts] for name, parts in WORLDS.items()},
    }
    found["rates"] = {
        kind: {str(n): _of_rates(kind, n) for n in seeds} for kind in ("wilson", "clopper-pearson")
    }
    found["centres"] = {
        kind: {world: {str(n): held(kind, world, n, studies) for n in seeds} for world in WORLDS}
        for kind in INTERVALS
    }
    return found


def held(kind: str, world: str, count: int, studies: int = STUDIES) -> float | None:
    """The share of studies of one kind; None where there is no such interval with so few seeds."""
    target, interval = INTERVALS[kind]
    quantiles = _quantiles(world)
    truth = {
        "median": np.median(quantiles),
        "mean": quantiles.mean(),
        "interquartile mean": statistics.interquartile_mean(quantiles),
    }[target]
    drawn = np.interp(
        np.random.default_rng(count).random((studies, count)), np.linspace(0, 1, _GRID), quantiles
    )
    made = [interval(values) for values in drawn.tolist()]
    if None in made:
        return None
    return float(np.mean([i.low <= truth <= i.high for i in made]))  # type: ignore[union-attr]


@lru_cache
def _quantiles(world: str) -> Any:
    """The value at each of many evenly spaced shares of a world's seeds."""
    from scipy import stats

    x = np.linspace(0, 1, _GRID)
    below = sum(weight * stats.beta.cdf(x, a, b) for weight, a, b in WORLDS[world])
    return np.interp(np.linspace(0, 1, _GRID), below, x)


def _of_rates(kind: str, count: int) -> dict[str, float]:
    """Mean and least coverage over true rates, exactly."""
    from scipy import stats

    rates = np.linspace(0.05, 0.95, 91)
    ends = [_rate_interval(kind, k, count) for k in range(count + 1)]
    covers = [
        sum(stats.binom.pmf(k, count, p) for k, (low, high) in enumerate(ends) if low <= p <= high)
        for p in rates.tolist()
    ]
    return {"mean": round(float(np.mean(covers)), 6), "least": round(float(np.min(covers)), 6)}


def _rate_interval(kind: str, successes: int, count: int) -> tuple[float, float]:
    from scipy import stats

    if kind == "wilson":
        found = statistics.wilson(successes, count)
        assert found is not None
        return found.low, found.high
    exact = stats.binomtest(successes, count).proportion_ci(statistics.CONFIDENCE, method="exact")
    return float(exact.low), float(exact.high)


def measured(record: Mapping[str, Any]) -> dict[str, dict[int, float]]:
    """What tables say: of rates the mean over rates, of centres the world of two groups; in whole hundredths."""
    rates = {
        "wilson": {int(n): round(each["mean"], 2) for n, each in record["rates"]["wilson"].items()}
    }
    two = {kind: record["centres"][kind]["two groups"] for kind in ("order statistics", "t", "BCa")}
    least = {
        "order statistics": statistics.EXACT_FROM,
        "t": statistics.EXACT_FROM,
        "BCa": statistics.BOOTSTRAP_FROM,
    }
    return rates | {
        kind: {
            int(n): round(share, 2)
            for n, share in found.items()
            if share is not None and int(n) >= least[kind]
        }
        for kind, found in two.items()
    }


def page(record: Mapping[str, Any]) -> str:
    """docs/statistics.md."""
    centres, rates = record["centres"], record["rates"]
    seeds = list(rates["wilson"])
    head = ["seeds", *(f"{kind}, {world}" for kind in INTERVALS for world in WORLDS)]
    body = [
        [n, *(_percent(centres[kind][world][n]) for kind in INTERVALS for world in WORLDS)]
        for n in seeds
    ]
    of_rates = [
        [n, *(_percent(rates[kind][n][what]) for kind in rates for what in ("mean", "least"))]
        for n in seeds
    ]
    header = ["seeds", *(f"{kind}, {what}" for kind in rates for what in ("mean", "least"))]
    three = centres["percentile bootstrap"]["two groups"]["3"]
    return _TEXT.format(
        studies=f"{record['studies']:,}",
        three=_percent(three),
        centres=_markdown([head, *body]),
        rates=_markdown([header, *of_rates]),
    )


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _markdown(rows: list[list[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


_TEXT = """# Statistics: what tables say, and how sure that is

The unit is the seed. Examples of one run are never pooled with those of another: 512 examples say how good that run is, not what
another seed would have done. Every table shows every seed.

- **Solved.** A run is solved if its mean exact match over the validation lengths reaches the task's threshold.
- **Extrapolation.** A run extrapolates if it is solved and its exact match at k times the training length is at least a threshold.
  The analysis spec of the study sets k and the threshold; their defaults are 2 and 0.9. A run that diverged, or whose encoding ends
  before that length, does not extrapolate. A run that failed (a machine, a disk) is left out and counted as failed. Outcomes of seeds often fall into two groups, so this count, with Wilson's interval, stands first.
- **Validation lengths** are all trained lengths, or eight of them spread evenly where there are more
  (`config.evaluate.validation_lengths`), whatever the test lengths are.
- **Held-out inputs.** A hash holds one input of eight out for validation and test, and training never draws it. Lengths with
  fewer than about 8,000 inputs are left alone: there training sees the inputs of evaluation. Each place of a record has this
  share as the metric `overlap`, and tables mark such lengths with §.
- **Centre.** Under 5 seeds the median and no interval. From 5, the median with the exact interval of order statistics, which assumes
  nothing about the distribution; of five seeds it goes from the least to the greatest and holds 93.75 %, no more. From 10, the
  interquartile mean with a BCa bootstrap of 4,000 resamples, within each task. Means and standard deviations are given to be
  comparable with papers.
- **Contrasts** are the pairs that the analysis spec names. Counts are compared by Barnard's exact test (the number of seeds of each side is
  fixed, the number that extrapolate is not, which is what Fisher's test assumes); differences on the seeds that both have by the exact
  sign-flip test, with their interval (Student's from 5 pairs, BCa from 10) and the measured correlation of the pairs: pairing helps
  where it is above 0. Both p are adjusted by Holm's method over the declared contrasts, each test by itself. A test's p is left out
  where no outcome of its seeds could bring it below 0.05 after that adjustment; a note says so.
- **Not compared** is what would not mean what it seems to: a variant that reveals the target length, or saw the test's positions in
  training, or was trained on the test's length, with one that did not; and, beyond training, a variant that no seed solved
  with any other. The largest position of the test is not in a record: it is reckoned from runs of the same task and layout
  that count up.
- **Tuned axes** are chosen by mean validation loss over seeds, up to the training length. From 10 seeds the choice is made anew in
  every resample, so that the interval holds what choosing adds; under 10 there is no such interval.
- **Ranks** over tasks (Friedman's test, Nemenyi's critical difference) from 15 tasks up. Tasks are no random sample and resemble one
  another: their p is for the list of tasks as it stands.
- **Lengths** L90 and L99 are the longest measured length up to which exact match, smoothed by isotonic regression to fall with
  length, is at least 0.9 or 0.99; "≥ 64" where that is the longest measured, "< 4" where the shortest is below. Areas are means of
  exact match from once to twice the training length, on 65 points, straight between measured lengths.
- **Planning**: `python -m experiments.tables --results=… --seeds_needed=0.8` says how many seeds a declared contrast needs, if the
  pilot's rates are true and averaged over what so few seeds leave open.

## What the intervals really cover

Nominal is 95 %. Each number is the share, in percent, of {studies} simulated studies whose interval holds the truth. *Two groups*:
six of ten seeds extend (around 0.96), the others do not (around 0.11). *One group*: seeds vary around 0.74. Order statistics are of
the median, t and the percentile bootstrap of the mean, BCa of the interquartile mean. A percentile bootstrap of three seeds, of which
papers draw bands, covers {three} %.

{centres}

Rates of extrapolation: exactly, the mean and the least over true rates from 0.05 to 0.95.

{rates}

Made by `python -m experiments.document --coverage` from a fixed seed: results/published/coverage/coverage.json. Tables
quote the measured coverage of the two groups, or of rates the mean, for the number of seeds that they have.
"""
