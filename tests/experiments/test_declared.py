"""Declared numbers on planted runs."""

import numpy as np
import pandas as pd
import pytest

from configs import convolution, more_seeds, state_tracking
from experiments.declared import __main__ as declared
from experiments.declared import common, depth, ladder, repeats, text_tiers, tiers
from pe_lab.results import frame
from pe_lab.runs.errors import UserError
from tests.results.test_text_study import folder_of

SEEDS = 5
NOPE = f"nope · {convolution.WITH}"
UNCHANGED = {"path": 0.5, "fire": 1.0}
NEW = more_seeds.SEEDS


def planted(scores, task="copy", rates=(1e-3, 3e-3), seeds=range(SEEDS), solved=True):
    """Runs of rows whose score at twice the training length is the same in all runs."""
    return pd.DataFrame(
        [
            {
                "row": row,
                "task": task,
                "rate": rate,
                "seed": seed,
                "solved": solved,
                common.SCORE: score,
                common.LOSS: 1 / rate,
            }
            for row, score in scores.items()
            for rate in rates
            for seed in seeds
        ]
    )


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ({"shaw": 1, "kerple": 0.95, NOPE: 0.95}, "upper tier"),
        ({"shaw": 1, "kerple": 0.95, NOPE: 0.85}, "below the upper tier"),
        ({"shaw": 1, "kerple": 0.0, NOPE: 0.95}, "undecided"),  # the bar is 0
    ],
)
def test_the_tier_of_convolutions_follows_the_declared_rule(scores, verdict):
    assert tiers.tier(planted(scores), NOPE) == verdict


def test_two_solved_runs_with_convolutions_decide_nothing():
    runs = planted({"shaw": 1, "kerple": 1, NOPE: 1})
    runs.loc[(runs["row"] == NOPE) & (runs["seed"] > 0), "solved"] = False
    assert tiers.tier(runs, NOPE) == "undecided"


def test_only_solved_runs_enter_a_share():
    runs = pd.concat(
        [planted({"shaw": 1}, seeds=[0]), planted({"shaw": 1}, seeds=[1], solved=False)]
    )
    assert common.counts(runs).sum().tolist() == [2, 2]


def test_a_difference_of_shares_has_its_sign_and_an_interval_around_it():
    old = pd.DataFrame({"extrapolates": [2, 2, 1, 2], "solved": [2, 2, 2, 2]})
    new = pd.DataFrame({"extrapolates": [0, 1, 0, 0], "solved": [2, 2, 2, 2]})
    center, interval = tiers.difference(old, new)
    assert center == pytest.approx(1 / 8 - 7 / 8)
    assert interval.low < center < interval.high < 0
    assert tiers.difference(old, old)[0] == 0


def test_shares_of_which_one_has_no_solved_run_have_no_difference():
    some = pd.DataFrame({"extrapolates": [2, 2], "solved": [2, 2]})
    center, interval = tiers.difference(some * 0, some)
    assert np.isnan(center)
    assert interval is None


def test_more_seeds_are_compared_at_the_rates_that_they_are_trained_with():
    """At another rate all old runs fail; it does not count."""
    old, new = (planted(UNCHANGED, rates=more_seeds.RATES, seeds=s) for s in (range(6), NEW))
    other = planted(dict.fromkeys(UNCHANGED, 0.0), rates=[1e-3], seeds=range(6))
    lines = tiers.more_seeds_lines(pd.concat([old, new, other]))
    assert lines[:2] == [
        f"{'fire':26} 12/12 [+0.73, +1.00] -> 12/12 [+0.73, +1.00]: +0.00 [+0.00, +0.00]",
        f"{'path':26} 0/12 [+0.00, +0.27] -> 0/12 [+0.00, +0.27]: +0.00 [+0.00, +0.00]",
    ]
    assert lines[2] == "tau 1.00: the tier is unchanged"
    reversed_ = planted({"path": 1.0, "fire": 0.5}, rates=more_seeds.RATES, seeds=NEW)
    assert "the tier is changed" in tiers.more_seeds_lines(pd.concat([old, reversed_]))[-1]


@pytest.mark.parametrize(
    ("order", "text"),
    [([1, 2, 3, 4], "tau 1.00: the order holds"), ([4, 3, 2, 1], "tau -1.00: another order")],
)
def test_the_ladder_finds_an_equal_order_and_a_reversed_one(order, text):
    small = planted({f"row {i}": i / 4 for i in range(1, 5)})
    large = planted({f"row {i}": order[i - 1] / 4 for i in range(1, 5)})
    assert text in ladder.size_ladder_lines(large, small)


@pytest.mark.parametrize(
    ("scores", "reason"),
    [
        ({"row 1": 1.0}, "fewer than two rows"),
        ({"row 1": 1.0, "row 2": 1.0}, "all rows have one score"),
    ],
)
def test_rows_without_an_order_have_no_verdict(scores, reason):
    runs = planted(scores)
    assert f"no order: {reason}" in ladder.size_ladder_lines(runs, runs)
    seeds = [planted(scores, rates=more_seeds.RATES, seeds=s) for s in (range(6), NEW)]
    assert tiers.more_seeds_lines(pd.concat(seeds))[-1] == f"no order: {reason}"


def test_the_share_of_the_rate_needs_two_rows_that_are_solved_at_all_sizes():
    names = {f"row {i}": i / 4 for i in range(1, 4)}
    solved, unsolved = planted(names), planted(names, solved=False)
    assert "mean over 1 tasks" in ladder.size_ladder_lines(solved, solved, solved)[-1]
    assert "no task has two rows" in ladder.size_ladder_lines(solved, solved, unsolved)[-1]


@pytest.mark.parametrize(
    ("column", "value", "missing"),
    [
        ("row", "b", "b on copy with rate 0.001 and seed 0"),
        ("rate", 3e-3, "a on copy with rate 0.003 and seed 0"),
        ("seed", 2, "a on copy with rate 0.001 and seed 2"),
    ],
)
def test_the_first_missing_or_repeated_run_of_a_size_is_named(column, value, missing):
    full = planted({"a": 0.5, "b": 1})
    cut = full[full[column] != value]
    for name, sizes in (("--reference", (full, cut)), ("--solved-in", (full, full, cut))):
        words = rf"^size_ladder: {name} has 0 runs, not one, of {missing}\.$"
        with pytest.raises(UserError, match=words):
            ladder.size_ladder_lines(*sizes)
    with pytest.raises(UserError, match=r"--reference has 2 runs, not one, of a on copy with"):
        ladder.size_ladder_lines(full, pd.concat([full, full]))


@pytest.mark.parametrize(
    ("shares", "end"),
    [
        ({"alibi": 1, "rope": 0.5}, "tau 1.00 over 2 rows: the tiers hold"),
        ({"alibi": 0.5, "rope": 1}, "tau -1.00 over 2 rows: another order"),
        ({"alibi": 1}, "no order: fewer than two rows"),
        ({"alibi": 1, "rope": 1}, "no order: all rows have one score"),
    ],
)
def test_fewer_bits_of_a_text_are_compared_with_the_share_of_the_suite(tmp_path, shares, end):
    """Of the text, alibi has 1.9 bits at four times the training length, and rope has 3."""
    text = frame.read(folder_of(tmp_path, {"extrapolation": {"at": 4}}))
    lines = text_tiers.real_text_lines(text, planted({**shares, "only in the suite": 0.7}))
    assert lines[0] == f"{'alibi':26} 1.900 bits, {shares_text(shares['alibi'])}"
    assert lines[-1] == end


def test_a_row_of_a_text_without_a_solved_run_of_the_suite_is_named(tmp_path):
    text = frame.read(folder_of(tmp_path, {"extrapolation": {"at": 4}}))
    suite = pd.concat([planted({"alibi": 1}), planted({"rope": 1}, solved=False)])
    assert text_tiers.real_text_lines(text, suite)[1:] == [
        f"{'rope':26} 3.000 bits, left out: no run of the suite is solved",
        "no order: fewer than two rows",
    ]


def test_a_suite_without_a_row_of_the_text_is_refused(tmp_path):
    text = frame.read(folder_of(tmp_path, {"extrapolation": {"at": 4}}))
    with pytest.raises(UserError, match="The suite has none of the text's rows: alibi, rope"):
        text_tiers.real_text_lines(text, planted({"only in the suite": 0.7}))


def shares_text(score):
    """The share of a planted row: all of its runs extrapolate, or none."""
    by_seed = common.counts(planted({"row": score}))
    return common.share_text(by_seed)


def test_the_order_of_a_text_needs_the_folders_of_the_suite():
    with pytest.raises(UserError, match="needs its folder, and those of suite_grid"):
        declared.run(declared.Options("real_text", ["results/real_text"]))


def test_a_score_is_read_at_the_rate_that_validation_chose():
    low, high = planted({"rope": 0.2}, rates=[1e-3]), planted({"rope": 0.7}, rates=[3e-3])
    assert ladder.scores(pd.concat([low, high]), ["copy"])["rope"] == pytest.approx(0.7)


def grid(of_rate, of_seed=0.01):
    """[row, rate, seed] with an effect of the rate, and small effects of rows and seeds."""
    rows, rates, seeds = np.ix_(range(3), range(2), range(SEEDS))
    noise = np.random.default_rng(0).normal(0, of_seed, (3, 2, SEEDS))
    return 0.1 * rows + of_rate * rates + noise + 0 * seeds


def test_a_planted_fall_of_the_share_of_the_rate_is_seen():
    center, interval = ladder.fall_of_rate_share([grid(0.5)], [grid(0.05)])
    assert center < -0.3
    assert interval.high < 0
    assert ladder.fall_of_rate_share([grid(0.5)], [grid(0.5)])[0] == 0


def test_the_interval_of_a_difference_of_shares_ends_within_its_range():
    """Of three seeds of noise, it was -2.3 to 2.3."""
    generator = np.random.default_rng(4)
    small, large = (generator.random((2, 2, 3)) for _ in range(2))
    _, interval = ladder.fall_of_rate_share([small], [large])
    assert (interval.low, interval.high) == (-1, 1)


def attributes(above, below, count_above=50):
    rows = [(seed, 2, 50, round(50 * below)) for seed in range(SEEDS)]
    rows += [(seed, 5, count_above, round(count_above * above)) for seed in range(SEEDS)]
    return pd.DataFrame(rows, columns=["seed", "attribute_value", "count", "successes"])


def test_the_effect_of_repeats_is_the_difference_of_the_two_sides_of_the_median():
    effect = repeats.repeat_effect(attributes(above=0.2, below=0.8))
    assert effect.to_list() == pytest.approx([-0.6] * SEEDS)


def test_an_alphabet_with_few_examples_on_a_side_is_not_used():
    assert repeats.repeat_effect(attributes(above=0.2, below=0.8, count_above=5)) is None


def blocks_study(score_of):
    """Runs of all declared cells, whose score at 1.5 times the training length is planted."""
    cells = []
    for layers in state_tracking.DEPTHS:
        for blocks in state_tracking.BLOCKS:
            score, task = score_of(layers, blocks), state_tracking.blocks_label(blocks)
            cell = planted({"nope": score}, task, seeds=range(4))
            cell["model.num_layers"] = state_tracking.layers_label(layers)
            cells.append(cell.rename(columns={common.SCORE: "1.5x"}))
    return pd.concat(cells)


def test_a_depth_learns_the_blocks_of_which_three_seeds_extrapolate():
    """In planted runs a depth d learns k up to d + 2."""
    runs = blocks_study(lambda layers, blocks: 0.95 if blocks <= layers + 2 else 0.85)
    lines = depth.blocks_lines(runs)
    assert lines[0] == "depth 1: learned 3; largest 3"
    assert lines[2:] == [
        "depth 3: learned 3, 5; largest 5",
        "of 4 cells with k <= d + 2, 4 are learned; of 11 others, 0",
        "15/15 cells are learned if and only if k <= d + 2",
    ]
    cell = runs[(runs["model.num_layers"] == "1 layer") & (runs["task"] == "3 blocks")]
    assert depth.is_learned(cell.assign(solved=cell["seed"] > 0))
    assert not depth.is_learned(cell.assign(solved=cell["seed"] > 1))


@pytest.mark.parametrize(
    ("score", "line"),
    [
        (0.0, "of 4 cells with k <= d + 2, 0 are learned; of 11 others, 0"),
        (1.0, "of 4 cells with k <= d + 2, 4 are learned; of 11 others, 11"),
    ],
)
def test_cells_that_the_law_allows_are_counted_apart(score, line):
    """A study that learns nothing agrees with the law in 11 cells of 15."""
    assert depth.blocks_lines(blocks_study(lambda layers, blocks: score))[-2] == line


@pytest.mark.parametrize(
    ("column", "value", "missing"),
    [
        ("task", "11 blocks", "1 layer on 11 blocks with rate 0.001 and seed 0"),
        ("model.num_layers", "3 layers", "3 layers on 3 blocks with rate 0.001 and seed 0"),
        ("rate", 3e-3, "1 layer on 3 blocks with rate 0.003 and seed 0"),
        ("seed", 3, "1 layer on 3 blocks with rate 0.001 and seed 3"),
    ],
)
def test_an_unfinished_study_of_depths_is_refused(column, value, missing):
    runs = blocks_study(lambda layers, blocks: 1.0)
    words = rf"^state_tracking: FOLDER has 0 runs, not one, of {missing}\.$"
    with pytest.raises(UserError, match=words):
        depth.blocks_lines(runs[runs[column] != value])


@pytest.mark.parametrize("value", [None, np.nan])
def test_a_rate_with_a_diverged_run_is_not_chosen_and_such_a_run_scores_0(value):
    """At 0.003 the other losses are lower, and at no rate a mean without a loss is an error."""
    runs = planted({"rope": 0.95}, rates=[1e-3]), planted({"rope": 0.5}, rates=[3e-3])
    both = pd.concat(runs, ignore_index=True).astype({common.LOSS: float})
    diverged = (both["rate"] == 3e-3) & (both["seed"] == 0)
    both.loc[diverged, [common.LOSS, common.SCORE]] = value
    assert ladder.scores(both, ["copy"])["rope"] == pytest.approx(0.95)
    assert depth.is_learned(both.rename(columns={common.SCORE: "1.5x"}))
    both.loc[both["seed"] == 0, [common.LOSS, common.SCORE]] = value
    assert ladder.scores(both, ["copy"])["rope"] == pytest.approx(0.95 * (SEEDS - 1) / SEEDS)
    assert depth.is_learned(both.rename(columns={common.SCORE: "1.5x"}))


@pytest.mark.parametrize(
    ("config", "folder", "missing"),
    [
        ("state_tracking", "suite_grid_pilot", "model.num_layers"),
        ("convolution", "quickstart", "train.learning_rate"),
        ("alphabet", "suite_grid_pilot", "model.convolution_sites"),
    ],
)
def test_the_folder_of_another_form_is_named(config, folder, missing):
    options = declared.Options(config, [f"results/published/{folder}"])
    with pytest.raises(UserError, match=rf"folder of another form: its runs have no {missing}\.$"):
        declared.run(options)
