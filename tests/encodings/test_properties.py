"""Laws of attention with one encoding. Hypothesis draws positions, lengths and boundaries."""

import functools

import hypothesis
import hypothesis.strategies as st
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

from pe_lab.contrib.laws.subjects import BOUND
from pe_lab.encodings.base import Tokens
from pe_lab.model.terms import View, visible
from pe_lab.runs.plugins import plugins
from tests.encodings import laws
from tests.encodings.codes import attend
from tests.marks import full_except

LENGTH, WIDTH, HEADS, HEAD_DIM = 7, 16, 2, 8
LARGEST = 1000  # shift, where there is no end to positions
CHOSEN = hypothesis.settings(max_examples=12, deadline=None, derandomize=True, database=None)
NAMES = [name for name in laws.names() if laws.is_attention(name)]
QUICK = ("stick_breaking", "transformer_xl", "xpos")
SLOTS = jnp.arange(LENGTH)[None]


@functools.cache
def built(name):
    context = dict(
        width=WIDTH,
        num_heads=HEADS,
        head_dim=HEAD_DIM,
        num_layers=1,
        bidirectional=False,
        rngs=nnx.Rngs(params=0),
    )
    encoding = plugins.build("encodings", plugins.resolve("encodings", laws.spec(name)), **context)
    graph, params = nnx.split(encoding)
    key = jax.random.key(5)
    moved = jax.tree.map(
        lambda p: p + 0.3 * jax.random.normal(key, p.shape), params
    )  # away from zeros
    return nnx.merge(graph, moved)


def inputs():
    x = jax.random.normal(jax.random.key(1), (1, LENGTH, WIDTH))
    return x, *jax.random.normal(jax.random.key(2), (3, 1, LENGTH, HEADS, HEAD_DIM))


@functools.cache
def attention(name):
    """Compiled attention of (x, q, k, v) at positions [L] and segments [L], with 0 for padding.

    With `single`, only the query in `row` attends.
    """
    encoding = built(name)

    def rows(given, positions, segments, row, single):
        x, q, k, v = given
        where = (
            jnp.stack([positions] * encoding.requirements.num_axes, axis=-1)[None]
            if encoding.requirements.num_axes > 1
            else positions[None]
        )
        of_queries, of_keys = encoding.features(x, where)

        def pick(a):
            return jax.lax.dynamic_slice_in_dim(a, row, 1, axis=1) if single else a

        lengths = (segments > 0).sum()[None]
        Q = Tokens(pick(where), pick(SLOTS), lengths, jax.tree.map(pick, of_queries))
        K, own = Tokens(where, SLOTS, lengths, of_keys), segments[None]
        whole = View((where[None],), own > 0, SLOTS, lengths, own)
        picked = View((pick(where)[None],), pick(own) > 0, pick(SLOTS), lengths, pick(own))
        mask = visible(picked, whole, causal=True)
        return attend(encoding, pick(q), k, v, Q, K, mask)[0]

    return jax.jit(rows, static_argnames="single")


def parametrized(test):
    return pytest.mark.parametrize("name", full_except(QUICK, NAMES))(test)


def places(name):
    """Ascending positions with gaps, that leave room for a shift where they end."""
    top = min(built(name).requirements.max_positions or BOUND, BOUND)
    return st.lists(
        st.integers(0, top // 2 - 1), min_size=LENGTH, max_size=LENGTH, unique=True
    ).map(sorted), top // 2


@pytest.mark.slow
@parametrized
def test_what_is_relative_ignores_every_shift(name):
    if not built(name).requirements.relative:
        pytest.skip("not relative")
    positions, room = places(name)
    largest = LARGEST if built(name).requirements.max_positions is None else room

    @CHOSEN
    @hypothesis.given(positions, st.integers(0, largest))
    def holds(at, shift):
        every = jnp.ones(LENGTH, int)
        base, shifted = (
            attention(name)(inputs(), jnp.asarray(at) + s, every, 0, single=False)
            for s in (0, shift)
        )
        np.testing.assert_allclose(base, shifted, atol=2e-4)

    holds()


@pytest.mark.slow
@parametrized
def test_a_document_packed_behind_another_is_as_it_is_alone(name):
    if built(name).requirements.reads_length:
        pytest.skip("what reads lengths takes one example a context")
    positions, _ = places(name)

    @CHOSEN
    @hypothesis.given(positions, st.integers(1, LENGTH - 1))
    def holds(at, boundary):
        at, second = jnp.asarray(at), SLOTS[0] >= boundary
        packed = attention(name)(inputs(), at, jnp.where(second, 2, 1), 0, single=False)[boundary:]
        moved = jax.tree.map(lambda a: jnp.roll(a, -boundary, axis=1), inputs())
        alone = attention(name)(
            moved, jnp.roll(at, -boundary), jnp.roll(second.astype(int), -boundary), 0, single=False
        )
        np.testing.assert_allclose(packed, alone[: LENGTH - boundary], atol=2e-5)

    holds()


@pytest.mark.slow
@parametrized
def test_a_query_that_sees_no_key_gets_zeros_and_all_gradients_are_finite(name):
    encoding, (x, q, k, v) = built(name), inputs()
    where = (
        jnp.stack([SLOTS] * encoding.requirements.num_axes, axis=-1)
        if encoding.requirements.num_axes > 1
        else SLOTS
    )
    mask = jnp.tril(jnp.ones((LENGTH, LENGTH), bool)).at[3].set(False)[None, None]
    graph, params = nnx.split(encoding)

    def out(params, x, q, k, v):
        whole = nnx.merge(graph, params)
        of_queries, of_keys = whole.features(x, where)
        lengths = jnp.asarray([LENGTH])
        return attend(
            whole,
            q,
            k,
            v,
            Tokens(where, SLOTS, lengths, of_queries),
            Tokens(where, SLOTS, lengths, of_keys),
            mask,
        )

    given = (params, x, q, k, v)
    np.testing.assert_array_equal(jax.jit(out)(*given)[:, 3], 0)
    gradients = jax.jit(jax.grad(lambda *given: (out(*given) ** 2).sum(), argnums=tuple(range(5))))(
        *given
    )
    assert all(np.isfinite(g).all() for g in jax.tree.leaves(gradients))


@pytest.mark.slow
@parametrized
def test_one_query_on_all_keys_is_its_row_of_the_whole(name):
    positions, _ = places(name)

    @CHOSEN
    @hypothesis.given(positions, st.integers(0, LENGTH - 1))
    def holds(at, row):
        at, every = jnp.asarray(at), jnp.ones(LENGTH, int)
        whole = attention(name)(inputs(), at, every, 0, single=False)
        np.testing.assert_allclose(
            attention(name)(inputs(), at, every, row, single=True)[0], whole[row], atol=2e-5
        )

    holds()
