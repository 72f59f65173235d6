import itertools

import numpy as np
import pytest

from pe_lab.contrib.grids import clustered
from pe_lab.results import statistics


def ends(successes, runs):
    interval = clustered.interval(list(successes), list(runs))
    return interval.low, interval.high


@pytest.mark.parametrize(
    ("successes", "runs", "effective"),
    [
        ([1, 0, 1, 1, 0, 1], 1, (4, 6)),  # one run a seed: Wilson's own interval
        ([4, 0, 4, 4, 0, 4], 4, (4, 6)),  # all runs of a seed end alike
        ([3, 3, 3], 3, (5.4, 5.4)),  # equal outcomes
        ([4] * 6, 4, (16, 16)),
    ],
)
def test_the_effective_number_of_runs_by_hand(successes, runs, effective):
    expected = statistics.wilson(*effective)
    found = ends(successes, [runs] * len(successes))
    assert found == pytest.approx((expected.low, expected.high))


def test_a_failed_run_makes_the_interval_no_shorter_and_no_higher():
    all_succeed, one_fails = ends([3, 3, 3], [3] * 3), ends([3, 3, 2], [3] * 3)
    assert all_succeed == pytest.approx((0.584, 1.0), abs=1e-3)
    assert one_fails == pytest.approx((0.458, 0.987), abs=1e-3)
    assert ends([3, 3, 0], [3] * 3) == pytest.approx((0.208, 0.939), abs=1e-3)


SHAPES = [(2,) * 2, (3,) * 3, (4,) * 4, (6,) * 3, (2,) * 6, (3, 3, 1), (4, 2, 1, 1), (6, 3, 2)]


@pytest.mark.parametrize("runs", SHAPES, ids=str)
def test_no_end_falls_if_one_more_run_succeeds(runs):
    for successes in itertools.product(*(range(count + 1) for count in runs)):
        low, high = ends(successes, runs)
        assert 0 <= low <= sum(successes) / sum(runs) <= high <= 1
        for seed, count in enumerate(runs):
            if successes[seed] < count:
                more = [k + (index == seed) for index, k in enumerate(successes)]
                assert np.all(np.array(ends(more, runs)) >= np.array([low, high]) - 1e-9)


@pytest.mark.parametrize(("seeds", "count"), [(6, 6), (5, 6), (6, 5), (4, 6)])
def test_with_more_runs_no_end_falls_by_more_than_a_little(seeds, count):
    runs = (count,) * seeds
    for successes in itertools.combinations_with_replacement(range(count + 1), seeds):
        before = np.array(ends(successes, runs))
        for index in range(seeds):
            if successes[index] < count:
                more = [k + (at == index) for at, k in enumerate(successes)]
                assert np.all(np.array(ends(more, runs)) >= before - 0.003)


def test_seeds_without_runs_do_not_count():
    assert clustered.interval([0, 0], [0, 0]) is None
    assert clustered.interval([2, 0], [2, 0]) == clustered.interval([2], [2])


def covers(seeds, runs, true_share, correlation):
    """Share of simulated studies whose interval contains the true share, ours and Wilson's.

    A seed has a rate of its own; runs of a seed have this correlation.
    """
    generator = np.random.default_rng(0)
    spread = (1 - correlation) / correlation
    is_covered = []
    for _ in range(2000):
        rates = generator.beta(true_share * spread, (1 - true_share) * spread, size=seeds)
        successes = generator.binomial(runs, rates)
        low, high = ends(successes, [runs] * seeds)
        plain = statistics.wilson(int(successes.sum()), seeds * runs)
        is_covered.append((low <= true_share <= high, plain.low <= true_share <= plain.high))
    return np.mean(is_covered, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "runs"), [(3, 3), (6, 4)])
@pytest.mark.parametrize("true_share", [0.1, 0.3, 0.5])
def test_the_interval_contains_the_true_share_where_runs_follow_their_seed(seeds, runs, true_share):
    assert covers(seeds, runs, true_share, 0.1)[0] >= 0.95
    assert covers(seeds, runs, true_share, 0.5)[0] >= 0.9


@pytest.mark.slow
def test_wilsons_own_interval_is_too_short_where_runs_follow_their_seed():
    assert covers(6, 4, 0.5, 0.5)[1] < 0.9
