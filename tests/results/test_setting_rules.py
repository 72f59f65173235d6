import numpy as np
import pandas as pd
import pytest

from pe_lab.results import setting_rules as rules

SCORE = "exact match at 2x"


def runs_of(**numbers):
    """Runs of one variant or more, from [variant, setting, seed] by name."""
    first = next(iter(numbers.values()))
    num_variants, num_settings, num_seeds = np.shape(first)
    variants = pd.MultiIndex.from_tuples(
        [(f"v{i}",) for i in range(num_variants)], names=["variant"]
    )
    named = {name.replace("_", " "): np.asarray(value, float) for name, value in numbers.items()}
    named.setdefault("solved", np.ones(np.shape(first)))
    return rules.Runs(variants, tuple(range(num_settings)), tuple(range(num_seeds)), named)


def test_a_frame_becomes_a_grid_with_numbers_in_their_order():
    frame = pd.DataFrame(
        [
            ("rope", 0.01, 1, 0.4),
            ("rope", 0.01, 0, 0.3),
            ("rope", 0.003, 0, 0.1),
            ("rope", 0.003, 1, 0.2),
        ],
        columns=["encoding", "rate", "seed", SCORE],
    )
    runs = rules.Runs.of(frame, rows=["encoding"], setting="rate", columns=[SCORE])
    assert runs.settings == (0.003, 0.01)
    np.testing.assert_array_equal(runs.numbers[SCORE], [[[0.1, 0.2], [0.3, 0.4]]])


def test_an_incomplete_grid_is_refused():
    frame = pd.DataFrame(
        [("rope", 0.01, 0, 0.3), ("rope", 0.01, 1, 0.3), ("rope", 0.003, 0, 0.1)],
        columns=["encoding", "rate", "seed", SCORE],
    )
    with pytest.raises(ValueError, match="lacks 1 runs, such as"):
        rules.Runs.of(frame, rows=["encoding"], setting="rate", columns=[SCORE])
    twice = pd.concat([frame, frame])
    with pytest.raises(ValueError, match="Two runs have the same encoding, rate, seed"):
        rules.Runs.of(twice, rows=["encoding"], setting="rate", columns=[SCORE])


def test_one_seed_cannot_score_its_own_choice():
    runs = runs_of(loss=[[[2.0], [1.0]]], score=[[[0.1], [0.3]]])
    with pytest.raises(ValueError, match="needs two seeds"):
        rules.scores(runs, rules.lowest("loss"), "score")


def test_the_score_of_a_rule_by_hand():
    """Two seeds: each half has one. Seed 0 chooses setting 1, scored on seed 1, and vice versa."""
    runs = runs_of(loss=[[[2.0, 1.0], [1.0, 2.0]]], score=[[[0.1, 0.2], [0.3, 0.4]]])
    # Seed 0 chooses setting 1 (loss 1), which has 0.4 for seed 1. Seed 1 chooses setting 0, which
    # has 0.1 for seed 0.
    assert rules.scores(runs, rules.lowest("loss"), "score") == pytest.approx([0.25])


def test_equal_settings_share_the_choice():
    runs = runs_of(loss=[[[1.0, 1.0], [1.0, 1.0]]], score=[[[0.0, 0.0], [1.0, 1.0]]])
    assert rules.scores(runs, rules.lowest("loss"), "score") == pytest.approx([0.5])


def test_solved_settings_are_equal_whatever_their_loss():
    loss, score = [[[5e-8, 5e-8], [3e-7, 3e-7]]], [[[0.0, 0.0], [1.0, 1.0]]]
    runs = runs_of(loss=loss, score=score)
    assert rules.scores(runs, rules.lowest("loss"), "score") == pytest.approx([0.0])
    with_ties = rules.solved_then(rules.lowest("loss"))
    assert rules.scores(runs, with_ties, "score") == pytest.approx([0.5])
    unsolved = runs_of(loss=loss, score=score, solved=np.zeros((1, 2, 2)))
    assert rules.scores(unsolved, with_ties, "score") == pytest.approx([0.0])


def test_a_diverged_run_is_not_chosen_and_scores_nothing():
    nan = np.nan
    runs = runs_of(loss=[[[nan, nan], [1.0, 1.0]]], score=[[[nan, nan], [0.5, 0.5]]])
    assert rules.scores(runs, rules.lowest("loss"), "score") == pytest.approx([0.5])
    assert rules.scores(runs, rules.highest("score"), "score") == pytest.approx([0.5])
    only = runs_of(loss=[[[nan, nan]]], score=[[[nan, nan]]])
    assert rules.scores(only, rules.lowest("loss"), "score") == pytest.approx([0.0])


def test_the_middle_and_a_random_setting_are_among_the_solved_ones():
    solved = [[[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]]
    score = [[[9.0, 9.0], [1.0, 1.0], [2.0, 2.0], [6.0, 6.0]]]
    runs = runs_of(solved=solved, score=score)
    assert rules.scores(runs, rules.middle_solved(), "score") == pytest.approx([2.0])
    assert rules.scores(runs, rules.random_solved(), "score") == pytest.approx([3.0])
    even = runs_of(solved=[[[1.0, 1.0], [1.0, 1.0]]], score=[[[1.0, 1.0], [2.0, 2.0]]])
    assert rules.scores(even, rules.middle_solved(), "score") == pytest.approx([1.5])


def chosen_by(rule, runs):
    """The shares of the settings of the first variant, if a rule sees every seed once."""
    return rule.choose(runs, np.ones((len(runs.seeds), 1)))[0, :, 0].tolist()


def test_a_logarithm_weighs_small_losses():
    """Means 0.5 and 0.4; geometric means 0.03 and 0.4."""
    loss = np.array([[[1.0, 0.001, 1.0, 0.001], [0.4, 0.4, 0.4, 0.4]]])
    score = np.array([[[1.0] * 4, [0.0] * 4]])
    runs = runs_of(loss=loss, score=score)
    assert chosen_by(rules.lowest("loss"), runs) == [0, 1]
    assert chosen_by(rules.lowest("loss", logarithm=True), runs) == [1, 0]


def test_a_loss_of_zero_has_a_logarithm():
    loss = np.array([[[0.0, 1.0], [1e-9, 1e-9]]])
    runs = runs_of(loss=loss, score=loss)
    assert chosen_by(rules.lowest("loss", logarithm=True), runs) == [1, 0]


def simulated(generator, *, informative):
    """200 variants whose four settings have known true scores, six seeds."""
    truth = generator.uniform(size=(200, 4, 1))
    score = truth + generator.normal(scale=0.05, size=(200, 4, 6))
    development = truth if informative else generator.uniform(size=(200, 4, 1))
    development = development + generator.normal(scale=0.05, size=(200, 4, 6))
    return truth[..., 0], runs_of(score=score, development=development)


def test_regret_is_that_of_the_truth():
    """An uninformative rule loses the best true score minus the mean one; an informative one
    little.
    """
    generator = np.random.default_rng(0)
    truth, runs = simulated(generator, informative=False)
    loss = rules.scores(runs, rules.highest("score"), "score")
    loss = loss - rules.scores(runs, rules.highest("development"), "score")
    assert loss.mean() == pytest.approx((truth.max(axis=1) - truth.mean(axis=1)).mean(), abs=0.03)
    _, runs = simulated(generator, informative=True)
    loss = rules.scores(runs, rules.highest("score"), "score")
    loss = loss - rules.scores(runs, rules.highest("development"), "score")
    assert loss.mean() == pytest.approx(0, abs=0.01)


def test_noise_alone_has_no_regret():
    """All settings are equal. The best one of the same seeds would look 0.08 better."""
    generator = np.random.default_rng(1)
    runs = runs_of(score=0.5 + generator.normal(scale=0.1, size=(400, 4, 6)))
    best = rules.scores(runs, rules.highest("score"), "score").mean()
    assert best == pytest.approx(0.5, abs=0.005)


def test_an_interval_has_the_draws_of_a_loop(monkeypatch):
    """The loop draws one seed after the other, and passes over draws of one seed alone."""
    monkeypatch.setattr(rules, "RESAMPLES", 60)
    generator = np.random.default_rng(3)
    loss, score = generator.uniform(size=(2, 2, 3, 4))
    loss[0, 1, 2] = score[0, 1, 2] = np.nan
    runs = runs_of(loss=loss, score=score, solved=score > 0.3)
    rule = rules.solved_then(rules.lowest("loss"))
    drawn, values = np.random.default_rng(0), []
    while len(values) < 60:
        draws = np.bincount(drawn.integers(4, size=4), minlength=4).astype(float)
        if np.count_nonzero(draws) > 1:
            values.append(rules.scores_of_draws(runs, rule, "score", draws[:, None])[:, 0])
    expected = np.quantile(values, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(rules.interval(runs, rule, "score"), expected, rtol=1e-12)


def test_the_interval_of_regret_holds_the_point_and_pairs_the_rules():
    generator = np.random.default_rng(2)
    _, runs = simulated(generator, informative=False)
    table = rules.regrets(runs, [rules.highest("development"), rules.random_solved()], "score")
    assert list(table["rule"]) == [
        "highest development",
        "random solved setting",
        "random solved setting - highest development",
    ]
    assert (table["low"] <= table["regret"]).all()
    assert (table["regret"] <= table["high"]).all()
    a, b, difference = table["regret"]
    assert difference == pytest.approx(b - a)
