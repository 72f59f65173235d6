import numpy as np
import pandas as pd
import pytest

from pe_lab.contrib.grids import setting_rules as rules


def runs_of(**numbers):
    """Runs of one variant or more, from [variant, setting, seed] by name."""
    named = {name: np.asarray(value, float) for name, value in numbers.items()}
    num_variants, num_settings, num_seeds = next(iter(named.values())).shape
    named.setdefault("solved", np.ones((num_variants, num_settings, num_seeds)))
    variants = pd.MultiIndex.from_product([range(num_variants)])
    return rules.Runs(variants, tuple(range(num_settings)), tuple(range(num_seeds)), named)


def grid_of(*runs):
    """The grid of runs of one variant from (rate, seed, score)."""
    frame = pd.DataFrame(runs, columns=["rate", "seed", "score"]).assign(encoding="rope")
    return rules.Runs.of(frame, rows=["encoding"], setting="rate", columns=["score"])


def test_a_frame_becomes_a_grid_with_numbers_in_their_order():
    runs = grid_of((0.01, 1, 0.4), (0.01, 0, 0.3), (0.003, 0, 0.1), (0.003, 1, 0.2))
    assert runs.settings == (0.003, 0.01)
    np.testing.assert_array_equal(runs.numbers["score"], [[[0.1, 0.2], [0.3, 0.4]]])


def test_an_incomplete_grid_is_refused():
    runs = [(0.01, 0, 0.3), (0.01, 1, 0.3), (0.003, 0, 0.1)]
    with pytest.raises(ValueError, match="lacks 1 runs, such as"):
        grid_of(*runs)
    with pytest.raises(ValueError, match="Two runs have the same encoding, rate, seed"):
        grid_of(*runs, *runs)


def test_one_seed_cannot_score_its_own_choice():
    runs = runs_of(loss=[[[2.0], [1.0]]], score=[[[0.1], [0.3]]])
    with pytest.raises(ValueError, match="needs two seeds"):
        rules.scores(runs, rules.lowest("loss"), "score")


def score(rule, **numbers):
    """The score of a rule for the only variant, from [setting][seed] by name."""
    runs = runs_of(**{name: [of_settings] for name, of_settings in numbers.items()})
    (found,) = rules.scores(runs, rule, "score")
    return pytest.approx(found)


LOWEST, HIGHEST = rules.lowest("loss"), rules.highest("score")
PAIR = [[0.0, 0.0], [1.0, 1.0]]  # scores of two settings


def test_the_score_of_a_rule_by_hand():
    """Two seeds: each half has one. Seed 0 chooses setting 1 (loss 1), which has 0.4 for seed 1.
    Seed 1 chooses setting 0, which has 0.1 for seed 0.
    """
    assert score(LOWEST, loss=[[2, 1], [1, 2]], score=[[0.1, 0.2], [0.3, 0.4]]) == 0.25


def test_equal_settings_share_the_choice():
    assert score(LOWEST, loss=[[1, 1], [1, 1]], score=PAIR) == 0.5


def test_solved_settings_are_equal_whatever_their_loss():
    loss = [[5e-8, 5e-8], [3e-7, 3e-7]]
    assert score(LOWEST, loss=loss, score=PAIR) == 0
    with_ties = rules.solved_then(LOWEST)
    assert score(with_ties, loss=loss, score=PAIR) == 0.5
    assert score(with_ties, loss=loss, score=PAIR, solved=[[0, 0], [0, 0]]) == 0


def test_a_diverged_run_is_not_chosen_and_scores_nothing():
    diverged = [np.nan, np.nan]
    for rule in (LOWEST, HIGHEST):
        assert score(rule, loss=[diverged, [1, 1]], score=[diverged, [0.5, 0.5]]) == 0.5
    assert score(LOWEST, loss=[diverged], score=[diverged]) == 0


def test_the_middle_and_a_random_setting_are_among_the_solved_ones():
    solved, scores = [[0, 0], [1, 1], [1, 1], [1, 1]], [[9, 9], [1, 1], [2, 2], [6, 6]]
    assert score(rules.middle_solved(), solved=solved, score=scores) == 2
    assert score(rules.random_solved(), solved=solved, score=scores) == 3
    assert score(rules.middle_solved(), solved=[[1, 1], [1, 1]], score=[[1, 1], [2, 2]]) == 1.5


@pytest.mark.parametrize(
    ("loss", "logarithm", "shares"),
    [
        # Means 0.5 and 0.4; geometric means 0.03 and 0.4.
        ([[1.0, 0.001, 1.0, 0.001], [0.4, 0.4, 0.4, 0.4]], False, [0, 1]),
        ([[1.0, 0.001, 1.0, 0.001], [0.4, 0.4, 0.4, 0.4]], True, [1, 0]),
        ([[0.0, 1.0], [1e-9, 1e-9]], True, [1, 0]),  # a loss of 0 has a logarithm
    ],
)
def test_a_logarithm_weighs_small_losses(loss, logarithm, shares):
    rule = rules.lowest("loss", logarithm=logarithm)
    every_seed = np.ones((len(loss[0]), 1))
    assert rule.choose(runs_of(loss=[loss]), every_seed)[0, :, 0].tolist() == shares


def simulated(generator, *, informative):
    """200 variants whose four settings have known true scores, six seeds."""
    truth = generator.uniform(size=(200, 4, 1))
    score = truth + generator.normal(scale=0.05, size=(200, 4, 6))
    development = truth if informative else generator.uniform(size=(200, 4, 1))
    development = development + generator.normal(scale=0.05, size=(200, 4, 6))
    return truth[..., 0], runs_of(score=score, development=development)


def regret(runs):
    """The mean regret of the choice by the development score."""
    loss = rules.scores(runs, HIGHEST, "score")
    return (loss - rules.scores(runs, rules.highest("development"), "score")).mean()


def test_regret_is_that_of_the_truth():
    """An uninformative rule loses the best true score minus the mean one; an informative one
    little.
    """
    generator = np.random.default_rng(0)
    truth, runs = simulated(generator, informative=False)
    expected = (truth.max(axis=1) - truth.mean(axis=1)).mean()
    assert regret(runs) == pytest.approx(expected, abs=0.03)
    _, runs = simulated(generator, informative=True)
    assert regret(runs) == pytest.approx(0, abs=0.01)


def test_noise_alone_has_no_regret():
    """All settings are equal. The best one of the same seeds would look 0.08 better."""
    generator = np.random.default_rng(1)
    runs = runs_of(score=0.5 + generator.normal(scale=0.1, size=(400, 4, 6)))
    assert rules.scores(runs, HIGHEST, "score").mean() == pytest.approx(0.5, abs=0.005)


def test_an_interval_has_the_draws_of_a_loop(monkeypatch):
    """The loop draws one seed after the other, and passes over draws of one seed alone."""
    monkeypatch.setattr(rules, "RESAMPLES", 60)
    generator = np.random.default_rng(3)
    loss, score = generator.uniform(size=(2, 2, 3, 4))
    loss[0, 1, 2] = score[0, 1, 2] = np.nan
    runs = runs_of(loss=loss, score=score, solved=score > 0.3)
    rule = rules.solved_then(LOWEST)
    drawn, values = np.random.default_rng(0), []
    while len(values) < 60:
        draws = np.bincount(drawn.integers(4, size=4), minlength=4).astype(float)
        if np.count_nonzero(draws) > 1:
            values.append(rules.scores_of_draws(runs, rule, "score", draws[:, None])[:, 0])
    expected = np.quantile(values, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(rules.interval(runs, rule, "score"), expected, rtol=1e-12)


def test_the_same_setting_for_all_variants():
    runs = runs_of(score=[[[0.1, 0.3], [0.5, 0.7]], [[0.2, 0.2], [0.0, 0.4]]])
    np.testing.assert_allclose(rules.scores(runs, rules.always(1), "score"), [0.6, 0.2])
