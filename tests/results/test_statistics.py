"""Centers and intervals agree with their formulas and with SciPy."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pe_lab.results import statistics as s
from pe_lab.results import summary


def mean(values):
    return values.mean(axis=-1)


def test_wilsons_interval_is_scipys():
    found, theirs = s.wilson(2, 3), stats.binomtest(2, 3).proportion_ci(method="wilson")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high))


@pytest.mark.parametrize(
    ("successes", "count", "end", "value"),
    [(0, 4, "low", 0.0), (4, 4, "high", 1.0), (10, 10, "high", 1.0), (0, 1, "low", 0.0)],
)
def test_wilson_ends_at_the_ends_of_the_scale(successes, count, end, value):
    assert getattr(s.wilson(successes, count), end) == value


def test_the_interquartile_mean_of_ten_weights_the_third_and_eighth_by_half():
    values = [0.0, 0.0, 0.2, 0.3, 0.4, 0.5, 0.6, 0.9, 1.0, 1.0]
    expected = (0.1 + 0.3 + 0.4 + 0.5 + 0.6 + 0.45) / 5
    assert s.interquartile_mean(values) == pytest.approx(expected)
    assert s.interquartile_mean(values) != pytest.approx(stats.trim_mean(values, 0.25))


@pytest.mark.parametrize("count", range(1, 40))
def test_the_interquartile_mean_is_of_the_middle_half_of_four_copies_of_each_value(count):
    """Of four copies, a quarter is whole numbers of values, which SciPy's trimmed mean cuts."""
    values = np.random.default_rng(count).normal(size=(3, count))
    copies = np.repeat(values, 4, axis=1)
    assert s.interquartile_mean(values) == pytest.approx(stats.trim_mean(copies, 0.25, axis=1))


@pytest.mark.parametrize("count", [10, 11, 12, 13])
def test_the_interquartile_mean_has_the_same_digits_for_every_order(count):
    generator = np.random.default_rng(count)
    values = generator.normal(size=count)
    means = {float(s.interquartile_mean(generator.permutation(values))) for _ in range(50)}
    assert len(means) == 1


@pytest.mark.parametrize(("count", "rank"), [(5, 1), (6, 1), (8, 1), (9, 2), (12, 3)])
def test_the_exact_interval_of_a_median_is_of_the_binomials_ranks(count, rank):
    interval = s.order_statistics(range(count, 0, -1))
    assert (interval.low, interval.high) == (rank, count + 1 - rank)


def test_one_rank_further_in_would_hold_less_than_is_said():
    for count in range(6, 60):
        rank = int(s.order_statistics(range(1, count + 1)).low)
        outside, further = stats.binom.cdf([rank - 1, rank], count, 0.5)
        assert 1 - 2 * outside >= 0.95 > 1 - 2 * further


@pytest.mark.parametrize(
    ("values", "name", "kind"),
    [
        ([0.5], "median", None),
        ([0.1, 0.2, 0.3, 0.4], "median", None),
        ([0.1] * 4 + [0.9], "median", "order statistics"),
        ([0.1, 0.9] * 4 + [0.5], "median", "order statistics"),
        ([0.1, 0.9] * 5, "interquartile mean", "BCa"),
    ],
)
def test_center_and_interval_are_those_that_the_number_of_seeds_allows(values, name, kind):
    center = s.center(values)
    assert (center.name, center.interval and center.interval.kind) == (name, kind)


def test_no_values_have_no_center_and_no_interval():
    assert (s.center([]), s.median([]), s.mean([]), s.wilson(0, 0)) == (None,) * 4
    assert (s.deviation([1.0]), s.t_interval([0.5])) == (None, None)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.3])
@pytest.mark.parametrize("count", [1, 3, 5, 9, 10, 30])
def test_equal_values_are_their_own_interval(value, count):
    """Warnings are errors here: scipy's bootstrap gives NaN and warns."""
    found = s.center([value] * count)
    assert found.point == pytest.approx(value)
    if count >= 5:
        assert (found.interval.low, found.interval.high) == pytest.approx((value, value))


def test_a_single_other_value_among_many_gives_an_interval_that_is_a_number():
    """No leave-one-out changes the interquartile mean, so that BCa is not defined: percentiles, and
    said so.
    """
    found = s.bootstrap([[1.0] * 9 + [0.0]], s.interquartile_mean)
    assert (found.kind, found.high) == ("percentile", 1.0)
    assert 0.5 < found.low < 1


def test_bca_is_scipys():
    """Of a skewed sample, where percentiles would be somewhere else."""
    values = np.random.default_rng(3).lognormal(sigma=0.8, size=25)
    found, plain = (s.bootstrap([values], mean, corrected=corrected) for corrected in (True, False))
    resamples = stats.bootstrap((values,), np.mean, method="BCa", rng=1, n_resamples=20_000)
    theirs = resamples.confidence_interval
    assert found.kind == "BCa"
    assert (found.low, found.high) == pytest.approx(tuple(theirs), rel=0.06)
    assert plain.high < 0.85 * theirs.high


def test_the_percentile_bootstrap_of_three_is_from_the_least_to_the_greatest():
    """All three resamples equal to one value have 1 / 27 of the weight, more than 2.5 %."""
    found = s.bootstrap([[0.1, 0.5, 0.9]], mean, corrected=False)
    assert (found.low, found.high) == pytest.approx((0.1, 0.9))


def test_tasks_are_resampled_each_within_itself():
    """Each task's seeds are equal: resampling within tasks changes nothing, pooled it would."""
    strata = [[0.0] * 10, [1.0] * 10]
    assert s.bootstrap(strata, mean).kind == "constant"
    assert s.bootstrap([strata[0] + strata[1]], mean).low < 0.4


def test_students_interval_is_scipys():
    values = [0.1, 0.4, 0.2, 0.9, 0.3]
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert (s.t_interval(values).low, s.t_interval(values).high) == pytest.approx((low, high))


def test_students_interval_ends_at_the_possible_range():
    values = [1.0, 1.0, 1.0, 1.0, 0.2]  # without limits up to 1.28
    assert s.t_interval(values).high > 1.2
    assert s.t_interval(values, (0.0, 1.0)).high == 1.0


def test_the_median_of_an_even_count_is_the_mean_of_the_two_middle_values():
    assert (s.median([3, 1, 2]), s.median([4, 1, 2, 3])) == (2, 2.5)


def test_the_median_of_limits_is_a_limit():
    """There is none between two limits, so it is the lower one."""
    limits = pd.DataFrame({"variant": "rope", "value": [8, 4, 8, 4], "bound": ["≥", "", "", "<"]})
    for rows in (limits, limits[1:]):
        cell = summary.summarize(rows, ["variant"], style="limit").of("rope")
        assert (cell.text, cell.value, cell.count) == ("4", 4, len(rows))


def test_coverage_is_of_the_next_number_of_seeds_below():
    assert s.coverage("BCa", 11) == (10, s.MEASURED["BCa"][10])
    assert (s.coverage("BCa", 9), s.coverage("no such", 10)) == (None, None)
