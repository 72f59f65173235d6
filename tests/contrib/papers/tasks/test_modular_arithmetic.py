import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.modular_arithmetic import ModularArithmetic
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import symbols

VARIANTS = [{}, dict(modulus=7)]


def oracle(task, prompt):
    text = task.vocabulary.text(prompt.tolist()).replace("- ", "+ -1 * ")
    total = 0
    for term in text.split(" + "):
        total += math.prod(map(int, term.split(" * ")))
    return np.array([total % task.modulus])


def drawn(task, length, count, bound=None):
    keys = jax.random.split(jax.random.key(0), count)
    return jax.jit(jax.vmap(lambda k: task.sample(k, jnp.asarray(length), bound or length)))(keys)


def test_worked_examples():
    task = ModularArithmetic()
    for text, value in (("0 * 1 + 4 * 3 - 2", 0), ("2 - 3 * 4 * 2 + 1", 4), ("0 - 1 * 1", 4)):
        assert oracle(task, np.array(symbols(task.vocabulary, text))).tolist() == [value]


@pytest.mark.slow
def test_long_expressions_have_the_value_of_pythons_own_integers():
    task = ModularArithmetic(modulus=10)
    e = drawn(task, 201, 20)
    assert [oracle(task, p).tolist() for p in np.asarray(e.prompt)] == np.asarray(e.target).tolist()


@pytest.mark.slow
def test_digits_and_operators_take_turns_each_as_often():
    """2100 draws: 420 of a digit (standard deviation 18), 700 of an operator (22)."""
    prompt = np.asarray(drawn(ModularArithmetic(), 5, 2100).prompt)
    for column, words, expected in (
        (0, range(5), 420),
        (1, range(5, 8), 700),
        (2, range(5), 420),
        (3, range(5, 8), 700),
    ):
        found, counts = np.unique(prompt[:, column], return_counts=True)
        assert found.tolist() == list(words)
        assert abs(counts - expected).max() < 100


@pytest.mark.slow
def test_an_even_length_draws_what_the_shorter_odd_one_draws():
    even, odd = drawn(ModularArithmetic(), 6, 5), drawn(ModularArithmetic(), 5, 5)
    assert even.prompt.shape == (5, 5)
    jax.tree.map(np.testing.assert_array_equal, even, odd)
    assert [ModularArithmetic().prompt_bound(n) for n in (1, 2, 3, 40)] == [1, 1, 3, 39]


@pytest.mark.slow
def test_the_floor_is_one_in_five():
    """Of 2000 examples, standard deviation 0.009; the guess itself is the luckiest of five."""
    assert abs(chance_levels(ModularArithmetic(), (41,), 2000)[0]["token_accuracy"] - 0.2) < 0.04


def test_a_modulus_without_residues_or_beyond_32_bits_is_refused():
    with pytest.raises(ValueError, match="modulus from 2 to 32768, got 1"):
        ModularArithmetic(modulus=1)
    with pytest.raises(ValueError, match="got 65536"):
        ModularArithmetic(modulus=2**16)
