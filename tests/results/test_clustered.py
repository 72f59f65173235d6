import numpy as np
import pytest

from pe_lab.results import clustered, statistics


@pytest.mark.parametrize(
    ("successes", "runs", "effective"),
    [
        ([1, 0, 1, 1, 0, 1], 1, (4, 6)),  # one run a seed: there are no clusters
        ([4, 0, 4, 4, 0, 4], 4, (4, 6)),  # all runs of a seed end alike
        ([4] * 6, 4, (6, 6)),  # equal outcomes
    ],
)
def test_runs_that_follow_their_seed_count_once_a_seed(successes, runs, effective):
    interval = clustered.interval(successes, [runs] * 6)
    expected = statistics.wilson(*effective)
    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high))


def test_seeds_without_runs_do_not_count():
    assert clustered.interval([0, 0], [0, 0]) is None
    assert clustered.interval([2, 0], [2, 0]) == clustered.interval([2], [2])


def test_the_interval_contains_the_true_share_where_runs_follow_their_seed():
    """Six seeds with a rate of their own, four runs each: Wilson's own interval would be too
    short.
    """
    generator = np.random.default_rng(0)
    covered, covered_without_clusters = [], []
    for _ in range(2000):
        rate = generator.beta(1.0, 1.0, size=6)  # mean 0.5
        successes = generator.binomial(4, rate)
        interval = clustered.interval(successes, [4] * 6)
        covered.append(interval.low <= 0.5 <= interval.high)
        plain = statistics.wilson(int(successes.sum()), 24)
        covered_without_clusters.append(plain.low <= 0.5 <= plain.high)
    assert np.mean(covered) >= 0.93
    assert np.mean(covered_without_clusters) < 0.9
