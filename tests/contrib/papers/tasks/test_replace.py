import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.contrib.papers.tasks.replace import Replace
from pe_lab.tasks.chance_levels import chance_levels

VARIANTS = [{}, dict(num_symbols=3)]


def oracle(task, prompt):
    old, new, *run = prompt.tolist()
    assert all(symbol == old for symbol in run)
    return np.array([new] * len(run))


def test_a_worked_example():
    assert oracle(Replace(), np.array([4, 9, 4, 4, 4])).tolist() == [9, 9, 9]


@pytest.mark.slow
def test_old_and_new_differ_and_every_pair_is_equally_likely():
    """6 pairs of 3 symbols, 1200 draws: 200 each expected, standard deviation 13."""
    keys = jax.random.split(jax.random.key(0), 1200)
    prompts = np.asarray(
        jax.jit(jax.vmap(lambda k: Replace(num_symbols=3).sample(k, jnp.asarray(2), 2).prompt))(
            keys
        )
    )
    assert (prompts[:, 2:] == prompts[:, :1]).all()
    counts = np.bincount(prompts[:, 0] * 3 + prompts[:, 1], minlength=9).reshape(3, 3)
    assert (np.diag(counts) == 0).all()
    off = counts[~np.eye(3, dtype=bool)]
    assert off.min() > 140
    assert off.max() < 260


def test_all_of_the_target_comes_from_the_new_symbol():
    e = jax.jit(Replace().sample, static_argnums=2)(jax.random.key(0), 3, 4)
    assert e.alignment.tolist() == [1, 1, 1, -1]
    assert e.prompt_mask.tolist() == [True] * 5 + [False]


@pytest.mark.slow
def test_the_floor_is_the_share_of_one_symbol():
    """Of 10; 1000 unseen examples, standard deviation 0.01."""
    chance_level = chance_levels(Replace(num_symbols=10), (4,), 1000)[0]
    assert abs(chance_level["exact_match"] - 0.1) < 0.045


def test_one_symbol_is_refused():
    with pytest.raises(ValueError, match="two symbols or more, got num_symbols=1"):
        Replace(num_symbols=1)
