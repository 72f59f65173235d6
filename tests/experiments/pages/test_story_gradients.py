"""The rule of story_gradients on norms where the answer is known."""

import pandas as pd
import pytest

from results.published.story_gradients import page

SEEDS = range(6)


def rows(raw, sinusoidal):
    """Norms of one step and rate, one for each seed."""
    norms = [("raw_index", seed, raw[seed]) for seed in SEEDS]
    norms += [("sinusoidal", seed, sinusoidal[seed]) for seed in SEEDS]
    table = pd.DataFrame(norms, columns=["variant", "seed", "norm"])
    return table.assign(step=100, length=8, **{page.RATE: "0.001"})


@pytest.mark.parametrize(
    ("raw", "sinusoidal", "explodes"),
    [
        ([8, 9, 8, 9, 8, 9], [2, 2, 2, 2, 2, 2], True),
        ([5, 5, 5, 5, 5, 5], [2, 2, 2, 2, 2, 2], False),  # the ratio is below 3
        ([0.8] * 6, [0.2] * 6, False),  # clipping changes nothing
        ([90, 90, 90, 90, 0.01, 0.01], [2, 2, 2, 2, 2, 2], False),  # the seeds do not agree
    ],
)
def test_gradients_explode_if_ratio_interval_and_norm_say_so(raw, sinusoidal, explodes):
    table = page.ratios(rows(raw, sinusoidal), "0.001")
    assert table["explodes"].tolist() == [explodes]


def test_the_rule_does_not_look_after_its_last_step():
    late = rows([8] * 6, [2] * 6).assign(step=400)
    early = rows([2] * 6, [2] * 6)
    table = page.ratios(pd.concat([early, late]), "0.001")
    assert table["ratio"].tolist() == [1, 4]
    assert table["explodes"].tolist() == [False, False]
