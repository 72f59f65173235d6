import jax
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.odds_first import OddsFirst
from pe_lab.tasks.chance_levels import chance_levels

VARIANTS = [{}, dict(num_symbols=9, distinct=True)]


def oracle(task, prompt):
    return np.concatenate([prompt[1::2], prompt[0::2]])


def test_it_is_the_authors_code_and_not_their_docstring():
    """The docstring says 0100 0111."""
    assert oracle(OddsFirst(), np.array([0, 0, 1, 1, 0, 1, 0, 1])).tolist() == [
        0,
        1,
        1,
        1,
        0,
        1,
        0,
        0,
    ]


@pytest.mark.parametrize(
    ("length", "places"), [(1, [0]), (2, [1, 0]), (5, [1, 3, 0, 2, 4]), (6, [1, 3, 5, 0, 2, 4])]
)
def test_places_are_counted_from_0(length, places):
    e = jax.jit(OddsFirst().sample, static_argnums=2)(jax.random.key(0), length, 6)
    assert e.alignment.tolist() == places + [-1] * (6 - length)


def test_the_floor_of_bits_is_a_half():
    """6000 tokens, standard deviation 0.006; the guesses are learnt from as many."""
    assert abs(chance_levels(OddsFirst(), (6,), 1000)[0]["token_accuracy"] - 0.5) < 0.04


def test_one_symbol_is_refused():
    with pytest.raises(ValueError, match="two symbols or more, got num_symbols=1"):
        OddsFirst(num_symbols=1)
