"""Every law on every task of the folder."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab import plugins
from pe_lab.tasks.base import floors

NAMES = plugins.names("tasks")
BOUND = 9


@functools.cache
def task(name):
    return plugins.build("tasks", plugins.resolve("tasks", {"name": name}))


@functools.cache
def drawn(name, bound=BOUND, count=60):
    """Examples of every length up to BOUND, at one padded length."""
    lengths = jnp.arange(count) % BOUND + 1
    sample = jax.jit(jax.vmap(lambda k, n: task(name).sample(k, n, bound)))
    return lengths, jax.tree.map(np.asarray, sample(jax.random.split(jax.random.key(0), count), lengths))


@pytest.mark.parametrize("name", NAMES)
def test_shapes_are_the_bounds_and_masks_are_prefixes(name):
    lengths, e = drawn(name)
    assert e.prompt.shape == e.prompt_mask.shape == (60, task(name).prompt_bound(BOUND))
    assert e.target.shape == e.target_mask.shape == e.answer_mask.shape == e.alignment.shape == (60, task(name).target_bound(BOUND))
    for mask in (e.prompt_mask, e.target_mask):
        assert (np.diff(mask.astype(int), axis=1) <= 0).all()
    assert (e.answer_mask <= e.target_mask).all()
    assert (e.prompt_mask.sum(axis=1) <= [task(name).prompt_bound(n) for n in np.asarray(lengths).tolist()]).all()


@pytest.mark.parametrize("name", NAMES)
def test_symbols_are_of_the_alphabet(name):
    _, e = drawn(name)
    used = np.concatenate([e.prompt[e.prompt_mask], e.target[e.target_mask]])
    assert used.min() == 0
    assert used.max() == task(name).vocabulary.num_symbols - 1
    words = task(name).vocabulary
    assert sorted([words.pad, words.begin, words.separator, words.end, words.blank]) == list(range(words.num_symbols, words.size))


@pytest.mark.parametrize("name", NAMES)
def test_the_target_is_the_oracles(name):
    for prompt, pm, target, tm in zip(
        *(getattr(drawn(name)[1], f) for f in ("prompt", "prompt_mask", "target", "target_mask")), strict=True
    ):
        np.testing.assert_array_equal(target[tm], task(name).oracle(prompt[pm]))


@pytest.mark.parametrize("name", NAMES)
def test_alignment_points_to_the_symbol_that_is_said(name):
    _, e = drawn(name)
    where = np.nonzero(e.alignment >= 0)
    np.testing.assert_array_equal(e.target[where], e.prompt[where[0], e.alignment[where]])


@pytest.mark.parametrize("name", NAMES)
def test_one_key_is_one_example_whatever_the_bound(name):
    _, short = drawn(name)
    _, long = drawn(name, bound=17)
    np.testing.assert_array_equal(short.prompt, long.prompt[:, : short.prompt.shape[1]])
    np.testing.assert_array_equal(short.target, long.target[:, : short.target.shape[1]])


@pytest.mark.parametrize("name", NAMES)
def test_a_traced_length_equals_a_static_one(name):
    key = jax.random.key(5)
    traced = jax.jit(lambda n: task(name).sample(key, n, BOUND))(4)
    static = task(name).sample(key, jnp.asarray(4), BOUND)
    jax.tree.map(np.testing.assert_array_equal, traced, static)


@pytest.mark.parametrize("name", NAMES)
def test_the_floor_is_what_a_blind_guess_reaches(name):
    """Uniform symbols: one in as many as there are, on unseen examples, and a whole target hardly ever."""
    chance = 1 / task(name).vocabulary.num_symbols
    for floor in floors(task(name), (3, 8), 1000):
        assert floor["count"] == 1000
        assert abs(floor["token_accuracy"] - chance) < 5 * (chance / 1000) ** 0.5
        if task(name).target_bound(8) > 1:
            assert floor["exact_match"] <= 5 * chance**3 + 0.02
