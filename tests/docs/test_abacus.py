"""The lookups of the page of abacus4:scaled."""

from pathlib import Path

from docs.build import abacus

LOOKUPS = abacus.lookups(Path(__file__).parents[2])
PLAIN = [
    f"bitwise or · {encoding} · plain 4" for encoding in ("nope", "fire", "abacus", "abacus + fire")
]


def test_a_lost_solution_is_one_of_the_curve_that_validation_does_not_have():
    """Counted by hand in the curves of table.md and of the records."""
    assert LOOKUPS["num_lost"](*PLAIN) == "5 of 20"


def test_seeds_that_do_not_solve_the_training_lengths_are_marked():
    row = LOOKUPS["by_seed"]([12], PLAIN[1]).splitlines()[-1]
    assert row == r"| `bitwise or · fire · plain 4` | 12 | 0.16\* | 0.01\* | 0.92 | 0.41 | 0.10 |"


def test_the_chance_level_of_a_length_is_that_of_the_table():
    assert LOOKUPS["chance"]("bitwise or", 16) == "0.11"
    assert LOOKUPS["highest"](16, PLAIN[2]) == "0.73"
