import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pe_lab.metrics.base import Limit
from pe_lab.results import cells, significance
from pe_lab.results import statistics as s


def test_wilson_by_the_formula():
    """(p + z²/2n ± z √(p(1-p)/n + z²/4n²)) / (1 + z²/n), of 2 of 3."""
    z, n, p = stats.norm.ppf(0.975), 3, 2 / 3
    middle, half = p + z**2 / (2 * n), z * math.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    found = s.wilson(2, 3)
    assert (found.low, found.high) == pytest.approx(
        ((middle - half) / (1 + z**2 / n), (middle + half) / (1 + z**2 / n))
    )


@pytest.mark.parametrize(
    ("successes", "count", "end", "value"),
    [(0, 4, "low", 0.0), (4, 4, "high", 1.0), (10, 10, "high", 1.0), (0, 1, "low", 0.0)],
)
def test_wilson_ends_at_the_ends_of_the_scale(successes, count, end, value):
    assert getattr(s.wilson(successes, count), end) == value


def test_no_runs_have_no_interval():
    assert s.wilson(0, 0) is None


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


@pytest.mark.parametrize(
    ("count", "rank"),
    [(5, 1), (6, 1), (8, 1), (9, 2), (12, 3)],
)
def test_the_exact_interval_of_a_median_is_of_the_binomials_ranks(count, rank):
    interval = s.order_statistics([float(i) for i in range(count, 0, -1)])
    assert (interval.low, interval.high) == (rank, count + 1 - rank)


def test_one_rank_further_in_would_hold_less_than_is_said():
    for count in range(6, 60):
        rank = int(s.order_statistics([float(i) for i in range(1, count + 1)]).low)
        assert (
            1 - 2 * stats.binom.cdf(rank - 1, count, 0.5)
            >= 0.95
            > 1 - 2 * stats.binom.cdf(rank, count, 0.5)
        )


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


def test_no_values_have_no_center():
    assert s.center([]) is None
    assert (s.median([]), s.mean([]), s.deviation([1.0])) == (None, None, None)


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
    found, plain = (
        s.bootstrap([values], lambda v: v.mean(axis=-1), corrected=corrected)
        for corrected in (True, False)
    )
    theirs = stats.bootstrap(
        (values,), np.mean, method="BCa", rng=1, n_resamples=20_000
    ).confidence_interval
    assert found.kind == "BCa"
    assert (found.low, found.high) == pytest.approx(tuple(theirs), rel=0.06)
    assert plain.high < 0.85 * theirs.high


def test_the_percentile_bootstrap_of_three_is_from_the_least_to_the_greatest():
    """All three resamples equal to one value have 1 / 27 of the weight, more than 2.5 %."""
    found = s.bootstrap([[0.1, 0.5, 0.9]], lambda v: v.mean(axis=-1), corrected=False)
    assert (found.low, found.high) == pytest.approx((0.1, 0.9))


def test_tasks_are_resampled_each_within_itself():
    """Each task's seeds are equal: resampling within tasks changes nothing, pooled it would."""
    strata = [[0.0] * 10, [1.0] * 10]
    assert s.bootstrap(strata, lambda v: v.mean(axis=-1)).kind == "constant"
    assert s.bootstrap([strata[0] + strata[1]], lambda v: v.mean(axis=-1)).low < 0.4


def test_students_interval_is_scipys():
    values = [0.1, 0.4, 0.2, 0.9, 0.3]
    low, high = stats.t.interval(0.95, 4, np.mean(values), stats.sem(values))
    assert (s.t_interval(values).low, s.t_interval(values).high) == pytest.approx((low, high))
    assert s.t_interval([0.5]) is None


@pytest.mark.parametrize("count", [1, 3, 8, 12])
def test_the_sign_flip_test_is_scipys_permutation_test(count):
    differences = np.random.default_rng(count).normal(0.3, size=count).tolist()
    if count == 1:
        assert significance.sign_flip(differences) == 1.0
    else:
        theirs = stats.permutation_test(
            (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
        )
        assert significance.sign_flip(differences) == pytest.approx(theirs.pvalue)


def test_signs_that_all_agree_give_the_least_p():
    assert [significance.sign_flip([0.1 * (i + 1) for i in range(n)]) for n in (3, 5, 6)] == [
        2 / 8,
        2 / 32,
        2 / 64,
    ]
    assert (
        significance.sign_flip([0.0, 0.0, 0.0]),
        significance.sign_flip([0.1] * 3),
        significance.sign_flip([]),
    ) == (
        1.0,
        0.25,
        None,
    )


def test_many_pairs_are_drawn_and_the_p_is_near_students():
    differences = np.random.default_rng(0).normal(0.4, size=40).tolist()
    assert significance.sign_flip(differences) == pytest.approx(
        stats.ttest_1samp(differences, 0).pvalue, abs=0.002
    )
    assert significance.sign_flip(differences) == significance.sign_flip(differences)


def test_correlation_of_pairs_and_where_there_is_none():
    assert s.correlation([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]) == pytest.approx(
        stats.pearsonr([1, 2, 3], [2, 4, 7]).statistic
    )
    assert (
        s.correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]),
        s.correlation([1.0, 2.0], [1.0, 2.0]),
    ) == (None, None)


def test_the_probability_of_improvement_is_mann_and_whitneys():
    a, b = [0.1, 0.5, 0.5, 0.9], [0.5, 0.2, 0.7]
    assert s.improvement(a, b) == stats.mannwhitneyu(a, b).statistic / 12
    assert (s.improvement([], b), s.improvement([1.0], [1.0])) == (None, 0.5)


@pytest.mark.parametrize(
    ("a", "b"), [((3, 3), (0, 3)), ((5, 5), (2, 5)), ((7, 10), (3, 10)), ((20, 30), (11, 28))]
)
def test_barnards_test_is_scipys(a, b):
    table = [[a[0], b[0]], [a[1] - a[0], b[1] - b[0]]]
    assert significance.barnard(a, b) == pytest.approx(stats.barnard_exact(table).pvalue, abs=2e-3)


def test_barnards_test_counts_outcomes_that_are_as_extreme_on_the_other_side():
    """2 of 6 against 4 of 5 is as far from equal as 4 of 6 against 1 of 5; scipy 1.17 loses the
    second to rounding.
    """
    as_extreme = [
        (x, y) for x in range(7) for y in range(6) if abs(_wald(x, y)) >= abs(_wald(2, 4)) - 1e-9
    ]
    assert {(2, 4), (4, 1)} <= set(as_extreme)
    tails = [
        sum(stats.binom.pmf(x, 6, p) * stats.binom.pmf(y, 5, p) for x, y in as_extreme)
        for p in np.linspace(0.01, 0.99, 99)
    ]
    assert significance.barnard((2, 6), (4, 5)) == pytest.approx(max(tails), abs=1e-4)


def _wald(x, y):
    p = (x + y) / 11
    return (x / 6 - y / 5) / math.sqrt(p * (1 - p) * (1 / 6 + 1 / 5)) if 0 < p < 1 else 0.0


def test_barnards_p_is_one_where_all_or_none_succeed_and_none_without_runs():
    assert [
        significance.barnard((0, 5), (0, 3)),
        significance.barnard((5, 5), (3, 3)),
        significance.barnard((0, 0), (1, 3)),
    ] == [
        1.0,
        1.0,
        None,
    ]


def test_barnards_test_keeps_its_level_at_every_rate():
    rejected = significance.barnard_table(6, 5) < 0.05
    for rate in np.linspace(0, 1, 101):
        weights = stats.binom.pmf(np.arange(7), 6, rate)[:, None] * stats.binom.pmf(
            np.arange(6), 5, rate
        )
        assert (weights * rejected).sum() <= 0.05 + 1e-9


def test_holm_by_hand():
    """0.01 × 4, then 0.02 × 3, then 0.025 × 2 but no less than the one before; what has no result
    yet counts.
    """
    assert significance.holm([0.02, None, 0.01, 0.025]) == [
        pytest.approx(0.06),
        None,
        pytest.approx(0.04),
        pytest.approx(0.06),
    ]
    assert significance.holm([0.5, 0.9]) == [1.0, 1.0]
    assert significance.holm([]) == []


@pytest.mark.slow
def test_holm_is_statsmodels():
    from statsmodels.stats.multitest import multipletests

    ps = np.random.default_rng(1).random((5, 7)) ** 3
    for row in ps:
        expected = multipletests(row, method="holm")[1]
        np.testing.assert_allclose(significance.holm(row.tolist()), expected, rtol=1e-12)


def test_holm_rejects_no_more_than_five_percent_of_families_without_an_effect():
    ps = np.random.default_rng(0).random((4000, 3))
    assert np.mean([min(significance.holm(row)) < 0.05 for row in ps.tolist()]) == pytest.approx(
        0.05, abs=0.012
    )


def test_ranks_are_friedmans_and_nemenyis():
    """Demšar 2006, table 5: q at 0.05 of three variants is 2.343, and the critical difference q
    √(k(k+1) / 6N).
    """
    scores = [[0.1 * i, 0.1 * i + 0.3, 0.1 * i + 0.2] for i in range(15)]
    found = significance.ranks(scores)
    assert found.mean == (3.0, 1.0, 2.0)
    assert found.critical_difference == pytest.approx(2.343 * math.sqrt(3 * 4 / (6 * 15)), abs=1e-3)
    assert found.p == pytest.approx(stats.chi2.sf(30, 2))


def test_ranks_are_not_made_of_fewer_than_fifteen_tasks_or_of_what_is_all_tied():
    scores = [[0.1, 0.2, 0.3]] * 15
    assert significance.ranks(scores) is not None
    assert [
        significance.ranks(scores[:14]),
        significance.ranks([[0.5] * 3] * 15),
        significance.ranks([[0.1, 0.2]] * 15),
    ] == [
        None,
        None,
        None,
    ]


def test_the_median_of_an_even_count_is_the_mean_of_the_two_middle_values():
    assert (s.median([3, 1, 2]), s.median([4, 1, 2, 3])) == (2, 2.5)


def test_the_middle_of_limits_is_a_limit():
    """There is none between two limits, so it is the lower one."""
    limits = [Limit(8, 1), Limit(4), Limit(8), Limit(4, -1)]
    assert cells.middle(limits, "median") == Limit(4)
    assert cells.middle(limits[1:], "median") == Limit(4)


def test_coverage_is_of_the_next_number_of_seeds_below():
    assert s.coverage("BCa", 11) == (10, s.MEASURED["BCa"][10])
    assert (s.coverage("BCa", 9), s.coverage("no such", 10)) == (None, None)


def test_every_order_of_the_same_values_gives_the_same_exact_interval():
    values = [0.1, 0.2, 0.4, 0.8, 0.9]
    assert {s.order_statistics(list(each)) for each in itertools.permutations(values)} == {
        s.order_statistics(values)
    }
