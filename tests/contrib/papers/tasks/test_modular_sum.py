import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.modular_sum import ModularSum
from pe_lab.tasks.chance_levels import chance_levels
from tests.tasks.drawing import drawn

VARIANTS = [{}, dict(signs=False, modulus=7)]


def oracle(task, prompt):
    total = 0
    for word in task.vocabulary.text(prompt.tolist()).replace("+", " ").split():
        total = (total + int(word)) % task.modulus
    return np.array([total])


def test_worked_examples():
    plus = 10
    assert oracle(ModularSum(), np.array([9, plus, 9, plus, 9])).tolist() == [7]
    assert oracle(ModularSum(signs=False), np.array([5, 5])).tolist() == [0]


@pytest.mark.slow
def test_terms_are_uniform_and_never_zero():
    """Nine terms, 1800 draws of two: 400 each, standard deviation 19."""
    terms = drawn(ModularSum(), 2, 1800).prompt[:, ::2]
    counts = np.bincount(terms.ravel(), minlength=10)
    assert counts[0] == 0
    assert np.abs(counts[1:] - 400).max() < 86


@pytest.mark.slow
def test_a_plus_stands_between_terms_and_is_no_symbol_of_a_number():
    e = ModularSum().sample(jax.random.key(0), jnp.asarray(3), 4)
    assert (e.prompt[1::2] == 10).tolist() == [True, True, False]
    assert e.prompt_mask.tolist() == [True] * 5 + [False] * 2
    assert e.structure["symbols"][0].tolist() == [True, False, True, False, True, False, False]
    assert [ModularSum().prompt_bound(n) for n in (1, 2, 9)] == [1, 3, 17]
    assert [ModularSum(signs=False).prompt_bound(n) for n in (1, 2, 9)] == [1, 2, 9]


@pytest.mark.slow
def test_its_floor_is_a_tenth():
    """1000 examples: standard deviation 0.01."""
    assert abs(chance_levels(ModularSum(), (9,), 1000)[0]["token_accuracy"] - 0.1) < 0.045


def test_a_modulus_with_one_kind_of_term_is_refused():
    with pytest.raises(ValueError, match="3 or more, so that terms differ, got 2"):
        ModularSum(modulus=2)
