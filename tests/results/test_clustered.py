import numpy as np
import pytest

from pe_lab.results import clustered, statistics


def test_independent_runs_have_wilsons_interval():
    """One run a seed: there are no clusters."""
    share = clustered.share([1, 0, 1, 1, 0, 1], [1] * 6)
    expected = statistics.wilson(4, 6)
    assert (share.successes, share.runs) == (4, 6)
    assert share.interval.low == pytest.approx(expected.low)
    assert share.interval.high == pytest.approx(expected.high)


def test_runs_that_follow_their_seed_count_once_a_seed():
    """Four runs of each of six seeds that all end alike are six runs."""
    share = clustered.share([4, 0, 4, 4, 0, 4], [4] * 6)
    expected = statistics.wilson(4, 6)
    assert share.interval.low == pytest.approx(expected.low)
    assert share.interval.high == pytest.approx(expected.high)


def test_equal_outcomes_count_once_a_seed():
    share = clustered.share([4] * 6, [4] * 6)
    expected = statistics.wilson(6, 6)
    assert share.value == 1
    assert share.interval.low == pytest.approx(expected.low)


def test_seeds_without_runs_do_not_count():
    assert clustered.share([0, 0], [0, 0]) is None
    assert clustered.share([2, 0], [2, 0]).runs == 2


def test_the_interval_contains_the_true_share_where_runs_follow_their_seed():
    """Six seeds with a rate of their own, four runs each: Wilson's own interval would be too
    short.
    """
    generator = np.random.default_rng(0)
    covered, covered_without_clusters = [], []
    for _ in range(2000):
        rate = generator.beta(1.0, 1.0, size=6)  # mean 0.5
        successes = generator.binomial(4, rate)
        interval = clustered.share(successes, [4] * 6).interval
        covered.append(interval.low <= 0.5 <= interval.high)
        plain = statistics.wilson(int(successes.sum()), 24)
        covered_without_clusters.append(plain.low <= 0.5 <= plain.high)
    assert np.mean(covered) >= 0.93
    assert np.mean(covered_without_clusters) < 0.9
