"""The table of addition has solved seeds alone."""

import pandas as pd
import pytest

from results.published.suite_grid_addition import page
from results.published.suite_grid_copying.page import RATE


def runs():
    """Three seeds at each of two rates; the last seed of the first rate is not solved."""
    return pd.DataFrame(
        {
            "name": ["rope"] * 6,
            RATE: ["0.001"] * 3 + ["0.003"] * 3,
            "solved": [True, True, False, False, False, False],
            "1.25x": [0.2, 0.6, 0.9, 0.1, 0.1, 0.1],
        }
    )


@pytest.mark.parametrize(("rate", "text"), [("0.001", "0.40 (0.20 to 0.60)"), ("0.003", "–")])
def test_a_cell_has_the_median_and_the_range_of_the_solved_seeds(rate, text):
    assert page.with_range(runs(), "rope", rate, 1.25) == text
