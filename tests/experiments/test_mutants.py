"""Planted mutants: one token, the same ones on every call, and the tests that can kill them."""

import ast
import sys
import types

import pytest

from experiments import mutants, mutations

FILE = '''"""A file with == in its docstring."""

LIMIT = 3


class Range:
    def holds(self, x, *, strict=True):
        return x < LIMIT and not strict  # or
'''
SLOW = "tests/test_all.py::test_slow[x / y]"
FAST = "tests/test_all.py::test_fast"
OWN = "tests/runs/test_range.py::test_own"
TIMES = {SLOW: 2.0, FAST: 1.0, OWN: 4.0}


def planted():
    return list(mutations.mutants_of("pe_lab/runs/range.py", FILE))


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
    moved = mutations.mutants_of("pe_lab/contrib/papers/runs/range.py", f"import os\n{FILE}")
    assert [mutant.key for mutant in moved] == [mutant.key for mutant in planted()]


def test_the_own_tests_of_a_mutant_are_the_first_then_the_fastest_within_the_limit():
    (mutant, *_) = planted()
    assert mutants.tests_of(mutant, TIMES, limit=7) == [OWN, FAST, SLOW]
    assert mutants.tests_of(mutant, TIMES, limit=6) == [OWN, FAST]
    assert mutants.tests_of(mutant, TIMES, limit=1) == [OWN]


def test_noted_functions_are_those_named_or_all_of_the_file(monkeypatch):
    file = f"{FILE}\n\ndef outer():\n    def inner():\n        return 1\n    return inner()\n"
    calls = []
    plugin = types.SimpleNamespace(note=lambda path, function: calls.append(function))
    monkeypatch.setitem(sys.modules, mutants.PLUGIN, plugin)
    for functions in ({"outer.<locals>.inner"}, {""}):
        names = {}
        exec(mutants.with_notes("range.py", file, functions), names)
        names["outer"]()
        names["Range"]().holds(1)
    inner = "outer.<locals>.inner"
    assert calls == [inner, "outer", inner, "Range.holds"]


@pytest.mark.slow
def test_the_choice_is_the_same_on_every_call_and_has_no_place_twice():
    chosen = mutations.chosen(mutants.ROOT, 300)
    for mutant in chosen:
        ast.parse(mutant.planted((mutants.ROOT / mutant.path).read_text(encoding="utf-8")))
    assert len({mutant.key for mutant in chosen}) == 300
    assert mutations.chosen(mutants.ROOT, 10) == chosen[:10]
