import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.solve_equation import _UNKNOWN, SolveEquation
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks._oracles import value_of
from tests.tasks.drawing import sampler, symbols

VARIANTS = [{}, dict(modulus=7)]


def oracle(task, prompt):
    if len(prompt) < 3:
        return np.array([0])
    *side, _, value = prompt.tolist()
    unknown = side.index(task.modulus + _UNKNOWN)
    solutions = []
    for digit in range(task.modulus):
        expression = [*side[:unknown], digit, *side[unknown + 1 :]]
        if value_of(expression, task.modulus) == value:
            solutions.append(digit)
    return np.array(solutions)


def texts(length, count):
    """The first of 1500 examples: one compiled program for all tests."""
    task = SolveEquation()
    e = sampler(task, 60)(jax.random.split(jax.random.key(0), 1500), jnp.asarray(length))
    e = jax.tree.map(lambda leaf: np.asarray(leaf)[:count], e)
    return [task.vocabulary.text(p) for p in e.prompt[:, :length].tolist()], e


def test_worked_examples():
    task = SolveEquation()
    for text, digit in (("x = 4", 4), ("- x = 4", 1), ("( ( 2 - 3 ) - x ) = 0", 4)):
        assert oracle(task, np.array(symbols(task.vocabulary, text))).tolist() == [digit]


@pytest.mark.slow
def test_an_equation_is_an_expression_with_one_unknown_and_its_value():
    forms = {
        3: r"x = \d",
        4: r"- x = \d",
        5: r"\( x \) = \d",
        6: r"\( - x \) = \d",
        7: r"\( (x [-+] \d|\d [-+] x) \) = \d",
    }
    for length, form in forms.items():
        assert all(re.fullmatch(form, text) for text in texts(length, 50)[0]), length
    assert all(text.count("x") == text.count("=") == 1 for text in texts(40, 50)[0])


@pytest.mark.slow
def test_shorter_ones_are_zeros():
    for length in (1, 2):
        found, e = texts(length, 5)
        assert set(found) == {" ".join("0" * length)}
        assert e.target.tolist() == [[0]] * 5


def test_one_digit_solves_a_long_equation():
    task, (_, e) = SolveEquation(), texts(60, 100)
    assert [oracle(task, p).tolist() for p in e.prompt] == e.target.tolist()


def test_the_unknown_is_the_first_digit_from_a_random_place_on():
    """In `(d+d)` places 4, 0 and 1 lead to the first digit: 900 of 1500, standard deviation 19."""
    found, _ = texts(7, 1500)
    assert abs(sum(text.startswith("( x") for text in found) - 900) < 90


@pytest.mark.slow
def test_the_floor_is_one_in_five():
    """Of 2000 examples, standard deviation 0.009; the guess itself is the luckiest of five."""
    assert abs(chance_levels(SolveEquation(), (41,), 2000)[0]["token_accuracy"] - 0.2) < 0.04


def test_a_modulus_of_one_is_refused():
    with pytest.raises(ValueError, match="SolveEquation needs a modulus from 2 to 32768, got 1"):
        SolveEquation(modulus=1)
