"""Examples of a task, as its own tests look at them."""

import functools
import importlib

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.tasks.base import numerals
from tests import members

BATCH = 48  # one size of batches, so that the laws of a task share one compiled program


@functools.cache
def batch_sampler(one, bound):
    """(key data, lengths, data) -> BATCH examples in the shapes of length `bound`."""

    def sample(key_data, length, data):
        return one.sample(jax.random.wrap_key_data(key_data), length, bound, data)

    return jax.jit(jax.vmap(sample, in_axes=(0, 0, None)))


def sample(one, keys, lengths, bound, split="train"):
    """An example for each key and length, as NumPy arrays in the shapes of length `bound`."""
    data = jax.tree.map(jnp.asarray, one.data(split))
    count = len(lengths)
    # The last batch is filled up with the first keys. NumPy resizes: JAX would compile for it.
    padded = -(-count // BATCH) * BATCH
    key_data = np.resize(np.asarray(jax.random.key_data(keys)), (padded, 2))
    lengths = np.resize(np.asarray(lengths, np.int32), padded)
    batches = []
    for first in range(0, padded, BATCH):
        part = slice(first, first + BATCH)
        batches.append(batch_sampler(one, bound)(key_data[part], lengths[part], data))
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[:count], *batches)


def drawn(one, length, count=1000, seed=0):
    """Examples of one length, in its own shapes."""
    sample = jax.jit(jax.vmap(lambda key: one.sample(key, jnp.asarray(length), length)))
    return jax.tree.map(np.asarray, sample(jax.random.split(jax.random.key(seed), count)))


def example(one, length, bound):
    """One example, in the shapes of length `bound`."""
    return jax.jit(one.sample, static_argnums=2)(jax.random.key(0), length, bound)


@functools.cache
def sampler(one, bound):
    """(keys, length) to examples in the shapes of length `bound`, compiled once."""
    return jax.jit(jax.vmap(lambda key, length: one.sample(key, length, bound), in_axes=(0, None)))


def first_drawn(one, length, count, bound=9):
    """The first of 1200 examples: one compiled program for most tests."""
    examples = sampler(one, bound)(jax.random.split(jax.random.key(0), 1200), jnp.asarray(length))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count], examples)


def oracle_of(one):
    """The slow, independent computation of a task's target, from the task's own test file."""
    name = type(one).__module__.rpartition(".")[2]
    return importlib.import_module(members.test_module("tasks", name)).oracle


def symbols(vocabulary, text):
    """The symbols of a text: the inverse of `Vocabulary.text`."""
    names = vocabulary.names or numerals(vocabulary.num_symbols)
    return [names.index(word) for word in text.split()]


def said(one, text):
    """What the oracle says to a prompt, both as text."""
    target = oracle_of(one)(one, np.array(symbols(one.vocabulary, text)))
    return one.target_vocabulary.text(target.tolist())
