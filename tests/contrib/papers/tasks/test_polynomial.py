import re

import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.polynomial import Polynomial
from tests.tasks.drawing import drawn, symbols

VARIANTS = [{}, dict(whole_terms=True), dict(modulus=3), dict(modulus=12, whole_terms=True)]


def oracle(task, prompt):
    words = task.vocabulary.text(prompt.tolist()).removeprefix("x = ")
    x, terms = words.split(maxsplit=1)
    value = 0
    for coefficient, degree in re.findall(r"(-?\d) ?\* ?x ?\*\* ?(\d)", terms):
        value += int(coefficient) * int(x) ** int(degree)
    return np.array([value % task.modulus])


def texts(task, length, count):
    e = drawn(task, length, count)
    return [task.vocabulary.text(p) for p in e.prompt.tolist()], e


def test_worked_examples():
    spelled, whole = Polynomial(), Polynomial(whole_terms=True, modulus=7)
    for task, text, value in (
        (spelled, "x = 0 in 2 * x ** 0 + 3 * x ** 1", 2),
        (spelled, "x = -2 in 3 * x ** 3 + -1 * x ** 2", 2),  # -28
        (whole, "-1 -3*x**3 2*x**2", 5),
    ):
        assert oracle(task, np.array(symbols(task.vocabulary, text))).tolist() == [value]


@pytest.mark.slow
def test_coefficients_degrees_and_place_are_each_as_often():
    """2800 draws, 400 a coefficient, 700 a degree, 560 a place: standard deviation at most 23."""
    words = np.array([text.split() for text in texts(Polynomial(), 2, 2800)[0]])
    assert {text for column in (0, 1, 3, 5, 6, 7, 9) for text in words[:, column]} == set(
        "x=in*+"
    ) - set("in") | {"in", "**"}
    for column, numbers, expected in (
        (2, range(-2, 3), 560),
        (4, range(-3, 4), 400),
        (8, range(4), 700),
        (10, range(-3, 4), 400),
    ):
        found, counts = np.unique(words[:, column].astype(int), return_counts=True)
        assert found.tolist() == list(numbers)
        assert abs(counts - expected).max() < 105


@pytest.mark.slow
def test_both_ways_to_write_say_the_same():
    spelled, whole = texts(Polynomial(), 4, 20), texts(Polynomial(whole_terms=True), 4, 20)
    for long, short in zip(spelled[0], whole[0], strict=True):
        place, *terms = short.split()
        assert long == f"x = {place} in " + " + ".join(
            t.replace("**", " ^ ").replace("*", " * ").replace("^", "**") for t in terms
        )
    np.testing.assert_array_equal(spelled[1].target, whole[1].target)


def test_bounds_count_terms():
    assert [Polynomial().prompt_bound(n) for n in (1, 8)] == [9, 51]
    assert [Polynomial(whole_terms=True).prompt_bound(n) for n in (1, 8)] == [2, 9]
    assert Polynomial().length_name == "terms"


def test_a_number_has_one_symbol_in_prompt_and_target():
    for task in (
        Polynomial(),
        Polynomial(whole_terms=True),
        Polynomial(modulus=3),
        Polynomial(modulus=12),
    ):
        assert task.vocabulary.names[: task.modulus] == tuple(map(str, range(task.modulus)))


def test_a_modulus_of_one_is_refused():
    with pytest.raises(ValueError, match="modulus of two or more, got 1"):
        Polynomial(modulus=1)
