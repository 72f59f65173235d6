"""The first table of the front page and of the findings."""

from pathlib import Path

import pandas as pd
import pytest

from docs.build import tiers
from docs.build.suite_rows import SCORES
from pe_lab.results import clustered, suite

ROOT = Path(__file__).parents[2]


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
    expected = clustered.interval([1, 1], [2, 1])
    assert tiers.lookups(ROOT)["tier"]("path").startswith("65/84 [")
    assert (expected.low, expected.high) == pytest.approx((0.2, 0.94), abs=0.02)


def test_the_upper_and_the_lower_tier_do_not_overlap():
    published = suite.read_scores(ROOT / SCORES)

    def ends(*names):
        of_seeds = tiers.outcomes(published, names)
        interval = clustered.interval(of_seeds["extrapolates"], of_seeds["solved"])
        return interval.low, interval.high

    upper = [ends(name)[0] for name in ("path", "shaw", "fire", "kerple", tiers.LEARNED_SLOPES)]
    assert min(upper) > ends(*tiers.POOLED)[1]


def test_the_front_page_has_at_most_eight_rows_and_six_columns():
    lines = tiers.lookups(ROOT)["front_tiers"].splitlines()
    assert (len(lines) - 2, lines[0].count("|") - 1) == (8, 6)
