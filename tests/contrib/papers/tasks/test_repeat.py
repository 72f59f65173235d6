import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.repeat import Repeat
from pe_lab.tasks.chance_levels import chance_levels

VARIANTS = [{}, dict(num_symbols=5, times=2)]


def oracle(task, prompt):
    return np.array([prompt[0]] * (task.times * len(prompt)))


def test_worked_examples():
    assert oracle(Repeat(), np.array([7, 7, 7])).tolist() == [7, 7, 7]
    assert oracle(Repeat(times=2), np.array([7, 7])).tolist() == [7] * 4


def test_a_prompt_is_one_symbol_and_each_is_equally_likely():
    """4 symbols, 1200 draws: 300 each expected, standard deviation 15."""
    keys = jax.random.split(jax.random.key(0), 1200)
    runs = np.asarray(
        jax.jit(jax.vmap(lambda k: Repeat(num_symbols=4).sample(k, jnp.asarray(5), 5).prompt))(keys)
    )
    assert (runs == runs[:, :1]).all()
    counts = np.bincount(runs[:, 0], minlength=4)
    assert counts.min() > 225
    assert counts.max() < 375


def test_the_second_run_comes_from_the_same_tokens():
    e = jax.jit(Repeat(times=2).sample, static_argnums=2)(jax.random.key(0), 3, 4)
    assert e.alignment.tolist() == [0, 1, 2, 0, 1, 2, -1, -1]
    assert e.target_mask.tolist() == [True] * 6 + [False] * 2


def test_the_floor_is_the_share_of_one_symbol():
    """Of 10; 1000 unseen examples, standard deviation 0.01."""
    chance_level = chance_levels(Repeat(num_symbols=10), (4,), 1000)[0]
    assert abs(chance_level["exact_match"] - 0.1) < 0.045


def test_what_is_no_repetition_is_refused():
    with pytest.raises(ValueError, match="got num_symbols=1"):
        Repeat(num_symbols=1)
    with pytest.raises(ValueError, match="got times=0"):
        Repeat(times=0)
