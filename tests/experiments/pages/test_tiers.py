"""The first table of the front page and of the findings, on planted runs."""

import pandas as pd

from results.published.suite_grid_copying import tiers


def runs(*rows):
    columns = ["task", "name", "seed", "solved", tiers.AT]
    return pd.DataFrame(rows, columns=columns)


RUNS = runs(
    ("copy", "rope", 0, True, 0.9),
    ("copy", "rope", 0, True, 0.89),  # below the threshold
    ("copy", "rope", 1, False, 1.0),  # not solved, so that it does not count
    ("sort", "rope", 1, True, 1.0),
    ("addition", "rope", 1, True, 1.0),  # not a task of the table
    ("copy", "nope", 0, False, 0.0),
)


def test_a_cell_counts_solved_runs_at_all_rates_and_seeds():
    found = tiers.cells(RUNS, {"RoPE": ["rope"], "both": ["rope", "nope"], "none": ["nope"]})
    assert found["RoPE"] == found["both"] == ["1/2", "–", "–", "1/1", "–"]
    assert found["none"] == ["–"] * 5


def test_a_seed_has_its_runs_of_all_tasks():
    """So the interval of the total counts the runs of a seed as dependent."""
    of_seeds = tiers.outcomes(RUNS, ["rope"])
    assert of_seeds.to_dict("index") == {
        0: {"extrapolates": 1, "solved": 2},
        1: {"extrapolates": 1, "solved": 1},
    }
