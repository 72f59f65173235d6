"""Planted mutants: one token, the same ones on every call, and the tests that can kill them."""

import ast

import pytest

from experiments import mutants

FILE = '''"""A file with == in its docstring."""

LIMIT = 3


class Range:
    def holds(self, x, *, strict=True):
        return x < LIMIT and not strict  # or
'''
CALLS = {
    "tests/test_all.py": [["pe_lab/runs/range.py", "Range.holds"], ["pe_lab/runs/grid.py", "f"]],
    "tests/runs/test_range.py": [["pe_lab/runs/range.py", "Range.holds"]],
    "tests/runs/test_grid.py": [["pe_lab/runs/grid.py", "f"]],
}


def planted():
    return list(mutants.mutants_of("pe_lab/runs/range.py", FILE))


def test_each_mutant_changes_one_token_of_code():
    lines = FILE.splitlines()
    changes = []
    for mutant in planted():
        text = mutant.planted(FILE).splitlines()
        (line,) = [i for i, (a, b) in enumerate(zip(text, lines, strict=True)) if a != b]
        changes.append((mutant.function, text[line].strip()))
    assert changes == [
        ("", "LIMIT = 4"),
        ("Range.holds", "def holds(self, x, +, strict=True):"),  # left out of the choice
        ("Range.holds", "def holds(self, x, *, strict=False):"),
        ("Range.holds", "return x <= LIMIT and not strict  # or"),
        ("Range.holds", "return x < LIMIT or not strict  # or"),
        ("Range.holds", "return x < LIMIT and  strict  # or"),
    ]


def test_the_key_of_a_mutant_survives_a_move_and_an_edit_above_it():
    moved = mutants.mutants_of("pe_lab/contrib/papers/runs/range.py", f"import os\n{FILE}")
    assert [mutant.key for mutant in moved] == [mutant.key for mutant in planted()]


def test_the_tests_of_a_mutant_call_its_function_and_its_own_test_is_the_first():
    limit, *_, last = planted()
    files = ["tests/runs/test_range.py", "tests/test_all.py"]
    assert mutants.tests_of(last, CALLS) == mutants.tests_of(limit, CALLS) == files


@pytest.mark.slow
def test_the_choice_is_the_same_on_every_call_and_has_no_place_twice():
    chosen = mutants.chosen(mutants.ROOT, 300)
    for mutant in chosen:
        ast.parse(mutant.planted((mutants.ROOT / mutant.path).read_text(encoding="utf-8")))
    assert len({mutant.key for mutant in chosen}) == 300
    assert mutants.chosen(mutants.ROOT, 10) == chosen[:10]
