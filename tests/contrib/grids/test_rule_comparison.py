import numpy as np
import pytest
from scipy import stats

from pe_lab.contrib.grids import rule_comparison
from pe_lab.contrib.grids import setting_rules as rules
from tests.contrib.grids.test_setting_rules import runs_of, simulated

DEVELOPMENT, RANDOM = rules.highest("development"), rules.random_solved()


def test_the_interval_of_regret_holds_the_point_and_pairs_the_rules():
    _, runs = simulated(np.random.default_rng(2), informative=False)
    table = rule_comparison.regrets(runs, [DEVELOPMENT, RANDOM], "score", [DEVELOPMENT.name])
    assert list(table.index) == ["highest development", "random solved setting"]
    for column in ("regret", "more than highest development"):
        assert (table[f"{column}_low"] <= table[column]).all()
        assert (table[column] <= table[f"{column}_high"]).all()
    # A rule never differs from itself: both see the same draws.
    ends = ["more than highest development_low", "more than highest development_high"]
    assert table.loc[DEVELOPMENT.name, ends].tolist() == [0, 0]


def test_differences_are_from_every_reference():
    _, runs = simulated(np.random.default_rng(4), informative=False)
    chosen_by = [DEVELOPMENT, RANDOM, rules.always(0)]
    references = [DEVELOPMENT.name, RANDOM.name]
    table = rule_comparison.regrets(runs, chosen_by, "score", references)
    for name in references:
        expected = table["regret"] - table.loc[name, "regret"]
        np.testing.assert_allclose(table[f"more than {name}"], expected, atol=1e-12)


def test_tau_is_that_of_scipy_with_ties():
    generator = np.random.default_rng(0)
    a, b = generator.integers(0, 4, size=(2, 12, 5)).astype(float)
    expected = [stats.kendalltau(*pair).statistic for pair in zip(a.T, b.T, strict=True)]
    np.testing.assert_allclose(rule_comparison.kendall(a, b), expected)


def test_equal_scores_have_no_tau():
    a = np.zeros((3, 1))
    b = np.arange(3.0)[:, None]
    assert np.isnan(rule_comparison.kendall(a, b)).all()


def test_a_rule_that_finds_the_best_setting_ranks_as_it_does():
    """Three variants whose best scores are 0.9, 0.6 and 0.3, at three different settings. At
    setting 0 they have 0.9, 0.5 and 0.1, so the order stays; at setting 2 it is turned over.
    """
    truth = np.array([[0.9, 0.2, 0.1], [0.5, 0.6, 0.2], [0.1, 0.1, 0.3]])
    seeds = np.repeat(truth[:, :, None], 4, axis=2)
    runs = runs_of(score=seeds)
    chosen_by = [rules.highest("score"), rules.always(0), rules.always(2)]
    table = rule_comparison.agreement(runs, chosen_by, "score")
    assert list(table.index) == ["highest score", "always 0", "always 2"]
    np.testing.assert_allclose(table["tau"], [1, 1, -1])
    np.testing.assert_allclose(table[["tau_low", "tau_high"]], [[1, 1], [1, 1], [-1, -1]])


def test_scores_with_the_same_two_digits_are_ties():
    """0.001 and 0.004 are printed as 0.00, so their order does not count: of three pairs, two."""
    best = np.array([0.001, 0.004, 0.9])
    other = np.array([0.004, 0.001, 0.9])
    runs = runs_of(score=np.repeat(np.stack([other, best], 1)[:, :, None], 4, axis=2))
    (tau,) = rule_comparison.agreement(runs, [rules.always(0)], "score")["tau"]
    assert tau == pytest.approx(1)


def test_many_variants_have_no_interval_of_tau(monkeypatch):
    monkeypatch.setattr(rule_comparison, "MOST_VARIANTS", 1)
    runs = runs_of(score=[[[0.1, 0.3]], [[0.2, 0.4]]])
    (row,) = rule_comparison.agreement(runs, [rules.always(0)], "score").to_dict("records")
    assert row["tau"] == 1
    assert np.isnan([row["tau_low"], row["tau_high"]]).all()
