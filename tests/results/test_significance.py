"""Significance tests, adjustments for several of them, and ranks agree with other libraries."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pe_lab.results import significance
from pe_lab.results import statistics as s


@pytest.mark.parametrize("count", [3, 8, 12])
def test_the_sign_flip_test_is_scipys_permutation_test(count):
    differences = np.random.default_rng(count).normal(0.3, size=count).tolist()
    theirs = stats.permutation_test(
        (differences,), np.mean, permutation_type="samples", n_resamples=np.inf
    )
    assert significance.sign_flip(differences) == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize(
    ("differences", "p"),
    [
        ([0.1 * (i + 1) for i in range(3)], 2 / 8),  # signs that all agree give the least p
        ([0.1 * (i + 1) for i in range(5)], 2 / 32),
        ([0.1 * (i + 1) for i in range(6)], 2 / 64),
        ([0.1] * 3, 2 / 8),
        ([0.3], 1.0),
        ([0.0] * 3, 1.0),
        ([], None),
    ],
)
def test_sign_flips_by_hand(differences, p):
    assert significance.sign_flip(differences) == p


def test_many_pairs_are_drawn_and_the_p_is_near_students():
    differences = np.random.default_rng(0).normal(0.4, size=40).tolist()
    p = significance.sign_flip(differences)
    assert p == pytest.approx(stats.ttest_1samp(differences, 0).pvalue, abs=0.002)
    assert p == significance.sign_flip(differences)


def test_correlation_of_pairs_and_where_there_is_none():
    theirs = stats.pearsonr([1, 2, 3], [2, 4, 7]).statistic
    assert s.correlation([1.0, 2.0, 3.0], [2.0, 4.0, 7.0]) == pytest.approx(theirs)
    assert s.correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None
    assert s.correlation([1.0, 2.0], [1.0, 2.0]) is None


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

    def wald(x, y):
        p = (x + y) / 11
        return abs(x / 6 - y / 5) / math.sqrt(p * (1 - p) * (1 / 6 + 1 / 5)) if 0 < p < 1 else 0.0

    outcomes = itertools.product(range(7), range(6))
    as_extreme = [outcome for outcome in outcomes if wald(*outcome) >= wald(2, 4) - 1e-9]
    assert {(2, 4), (4, 1)} <= set(as_extreme)
    x, y = np.array(as_extreme).T[..., None]
    rates = np.linspace(0.01, 0.99, 99)
    tails = (stats.binom.pmf(x, 6, rates) * stats.binom.pmf(y, 5, rates)).sum(axis=0)
    assert significance.barnard((2, 6), (4, 5)) == pytest.approx(tails.max(), abs=1e-4)


@pytest.mark.parametrize(
    ("a", "b", "p"), [((0, 5), (0, 3), 1.0), ((5, 5), (3, 3), 1.0), ((0, 0), (1, 3), None)]
)
def test_barnards_p_is_one_where_all_or_none_succeed_and_none_without_runs(a, b, p):
    assert significance.barnard(a, b) == p


def test_barnards_test_keeps_its_level_at_every_rate():
    rejected = significance.barnard_table(6, 5) < significance.LEVEL
    for rate in np.linspace(0, 1, 101):
        of_a, of_b = stats.binom.pmf(np.arange(7), 6, rate), stats.binom.pmf(np.arange(6), 5, rate)
        assert of_a @ rejected @ of_b <= 0.05 + 1e-9


def test_holm_by_hand():
    """0.01 × 4, then 0.02 × 3, then 0.025 × 2 but no less than the one before; what has no result
    yet counts.
    """
    first, untested, *others = significance.holm([0.02, None, 0.01, 0.025])
    assert untested is None
    assert [first, *others] == pytest.approx([0.06, 0.04, 0.06])
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
    rejected = np.mean([min(significance.holm(row)) < 0.05 for row in ps.tolist()])
    assert rejected == pytest.approx(0.05, abs=0.012)


def test_ranks_are_friedmans_and_nemenyis():
    """Demšar 2006, table 5: q at 0.05 of three variants is 2.343, and the critical difference q
    √(k(k+1) / 6N).
    """
    scores = [[0.1 * i, 0.1 * i + 0.3, 0.1 * i + 0.2] for i in range(15)]
    found = significance.ranks(scores)
    assert found.mean == (3.0, 1.0, 2.0)
    assert found.critical_difference == pytest.approx(2.343 * math.sqrt(3 * 4 / (6 * 15)), abs=1e-3)
    assert found.p == pytest.approx(stats.chi2.sf(30, 2))


@pytest.mark.parametrize("scores", [[[0.1, 0.2, 0.3]] * 14, [[0.5] * 3] * 15, [[0.1, 0.2]] * 15])
def test_ranks_are_not_made_of_fewer_than_fifteen_tasks_or_of_what_is_all_tied(scores):
    assert significance.ranks(scores) is None
