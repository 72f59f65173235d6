import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.tasks.copy import Copy

CHANCE_LEVELS = [
    (dict(num_symbols=2, distinct=False), 1, metric, 1 / 2, 1)
    for metric in ("exact_match", "token_accuracy")
]
REFUSALS = [
    (dict(num_symbols=1), "two symbols or more, got num_symbols=1"),
]


def oracle(task, prompt):
    return prompt


@pytest.mark.slow
def test_distinct_symbols_do_not_repeat_and_small_alphabets_do():
    keys = jax.random.split(jax.random.key(0), 50)
    distinct = jax.vmap(lambda k: Copy(num_symbols=8).sample(k, jnp.asarray(8), 8).prompt)(keys)
    assert all(len(set(row)) == 8 for row in np.asarray(distinct).tolist())
    small = jax.vmap(
        lambda k: Copy(num_symbols=2, distinct=False).sample(k, jnp.asarray(8), 8).prompt
    )(keys)
    assert sorted(np.unique(small)) == [0, 1]


@pytest.mark.slow
def test_each_symbol_comes_first_equally_often():
    """6 symbols, 1200 draws: 200 each expected, standard deviation 13."""
    keys = jax.random.split(jax.random.key(1), 1200)
    first = jax.vmap(lambda k: Copy(num_symbols=6).sample(k, jnp.asarray(1), 1).prompt[0])(keys)
    counts = np.bincount(first, minlength=6)
    assert counts.min() > 140
    assert counts.max() < 260


def test_the_longest_distinct_string_is_the_alphabet():
    assert Copy(num_symbols=8).max_length == 8
    assert Copy(num_symbols=8, distinct=False).max_length is None
