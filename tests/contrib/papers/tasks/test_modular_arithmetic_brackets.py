import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.modular_arithmetic_brackets import ModularArithmeticBrackets
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks._oracles import value_of
from tests.tasks.drawing import sampler, symbols

VARIANTS = [{}, dict(multiplication=False, modulus=7)]


def oracle(task, prompt):
    return np.array([value_of(prompt.tolist(), task.modulus)])


def texts(task, length, count, bound=60):
    """The first of 2100 examples: one compiled program for all tests."""
    e = sampler(task, bound)(jax.random.split(jax.random.key(0), 2100), jnp.asarray(length))
    e = jax.tree.map(lambda leaf: np.asarray(leaf)[:count], e)
    return [task.vocabulary.text(p) for p in e.prompt[:, :length].tolist()], e


def test_worked_examples():
    task = ModularArithmeticBrackets()
    for text, value in (
        ("( ( - 3 ) * ( 4 - - 2 ) )", 2),
        ("( - 1 - 2 )", 2),
        ("( - 4 )", 1),
        ("( ( 2 * 3 ) + ( 4 ) )", 0),
    ):
        assert oracle(task, np.array(symbols(task.vocabulary, text))).tolist() == [value]


@pytest.mark.slow
def test_short_expressions_have_the_form_of_their_length():
    forms = {
        1: r"\d",
        2: r"- \d",
        3: r"\( \d \)",
        4: r"\( - \d \)",
        5: r"\( \d [-+*] \d \)",
        6: r"\( (\d [-+*] - \d|- \d [-+*] \d) \)",
    }
    for length, form in forms.items():
        assert all(
            re.fullmatch(form, text) for text in texts(ModularArithmeticBrackets(), length, 50)[0]
        ), length


@pytest.mark.slow
def test_long_expressions_parse_and_have_the_value_of_pythons_own_integers():
    task = ModularArithmeticBrackets()
    for length in (33, 60):
        _, e = texts(task, length, 100)
        assert [oracle(task, p[:length]).tolist() for p in e.prompt] == e.target.tolist()


@pytest.mark.slow
def test_the_left_part_is_of_each_length_equally_often():
    """At length 8 it has 1 to 4 symbols: of 1200, 300 each expected, standard deviation 15."""
    found, _ = texts(ModularArithmeticBrackets(), 8, 1200)
    left = [r"\d", r"- \d", r"\( \d \)", r"\( - \d \)"]
    counts = [sum(bool(re.match(rf"\( {part} [-+*]", text)) for text in found) for part in left]
    assert sum(counts) == 1200
    assert max(abs(count - 300) for count in counts) < 70


@pytest.mark.slow
def test_digits_and_operators_are_each_as_often():
    """At length 5, 2100 draws: 420 of each digit, standard deviation 18.

    Of three operators 700 each, standard deviation 22; of two 1050 each, standard deviation 23.
    """
    for multiplication, expected in ((True, 700), (False, 1050)):
        words = np.array(
            [
                text.split()
                for text in texts(
                    ModularArithmeticBrackets(multiplication=multiplication), 5, 2100
                )[0]
            ]
        )
        for column, names, count in (
            (1, "01234", 420),
            (2, "+-*"[: 2 + multiplication], expected),
            (3, "01234", 420),
        ):
            found, counts = np.unique(words[:, column], return_counts=True)
            assert set(found) == set(names)
            assert abs(counts - count).max() < 105


@pytest.mark.slow
def test_products_raise_the_floor():
    """Of 2000 examples, standard deviation 0.01."""
    assert (
        abs(chance_levels(ModularArithmeticBrackets(), (41,), 2000)[0]["token_accuracy"] - 0.29)
        < 0.045
    )


def test_a_modulus_of_one_is_refused():
    with pytest.raises(
        ValueError, match="ModularArithmeticBrackets needs a modulus from 2 to 32768, got 1"
    ):
        ModularArithmeticBrackets(modulus=1)
