"""The correlations of story_recurrent on examples where the answer is known."""

import pandas as pd

from results.published.story_recurrent import page


def examples(*values_of_seeds):
    """Exact match of each seed at the distances 1, 2, …"""
    rows = [
        {"seed": str(seed), "attribute_value": distance, "value": value}
        for seed, values in enumerate(values_of_seeds)
        for distance, value in enumerate(values, start=1)
    ]
    return pd.DataFrame(rows)


def test_a_seed_has_the_sign_of_its_change_with_the_distance():
    found = page.correlations(examples([0.9, 0.5, 0.1], [0.1, 0.5, 0.9]))
    assert found == [-1, 1]


def test_a_seed_that_is_equally_right_everywhere_has_none():
    assert page.correlations(examples([1.0, 1.0, 1.0])) == [None]
