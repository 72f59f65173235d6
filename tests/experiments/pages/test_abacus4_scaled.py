"""The lookups of the page of abacus4:scaled."""

from pathlib import Path

import pytest

from results.published.abacus4_scaled import page

pytestmark = pytest.mark.slow
PLAIN = [
    f"bitwise or · {encoding} · plain 4" for encoding in ("nope", "fire", "abacus", "abacus + fire")
]


@pytest.fixture(scope="module")
def lookups():
    return page.lookups(Path(__file__).parents[3])


def test_a_lost_run_is_solved_on_its_curve_and_not_at_the_end(lookups):
    """Counted by hand in the records: no positions 0 and 3, FIRE 0 and 1, Abacus with FIRE 1."""
    assert lookups["num_lost"](*PLAIN) == "5 of 20"


def test_seeds_that_do_not_solve_the_training_lengths_are_marked(lookups):
    row = lookups["by_seed"]([12], PLAIN[1]).splitlines()[-1]
    assert row == r"| `bitwise or · fire · plain 4` | 12 | 0.16\* | 0.01\* | 0.92 | 0.41 | 0.10 |"


def test_scores_are_those_of_runs_as_trained_and_not_of_the_grid_of_other_digits(lookups):
    row = lookups["by_seed"]([8], "addition · nope · plain 4").splitlines()[-1]
    scores = r"0.97\* | 0.34\* | 0.96 | 0.64\* | 0.76\*"
    assert row == f"| `addition · nope · plain 4` | 8 | {scores} |"


def test_the_highest_score_is_that_of_the_best_seed(lookups):
    assert lookups["highest"](16, PLAIN[2]) == "0.73"


def test_the_chance_level_of_a_length_is_that_of_the_table(lookups):
    assert lookups["chance"]("bitwise or", 16) == "0.11"
