import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.music_transformer import MusicTransformer
from tests import models
from tests.encodings import codes, laws
from tests.encodings.subjects import Subject
from tests.marks import full

SENSITIVE = {"max_distance": (1024, 5)}

BOTH_SIDES = pytest.mark.parametrize("bidirectional", [False, True])


def encoding(max_distance=4, bidirectional=True):
    return MusicTransformer(
        max_distance=max_distance,
        num_heads=2,
        head_dim=4,
        bidirectional=bidirectional,
        rngs=codes.rngs(),
    )


def drawn(length, batch=1):
    return jax.random.normal(jax.random.key(0), (batch, length, 2, 4))


def added(e, q, Q, K=None, compute=codes.EQUATION):
    K = Q if K is None else K
    k = jnp.ones((len(q), K.positions.shape[1], 2, 4))
    return np.asarray(compute.hook(e, "content_bias")(q, k, Q, K))


def equation(e, q, at, to):
    """One query and key at a time, in float64."""
    table, q, n = np.asarray(e.table[...], np.float64), np.asarray(q, np.float64), e.max_distance
    out = np.zeros((2, len(at), len(to)))
    for h, i, j in np.ndindex(out.shape):
        distance = at[i] - to[j]
        if e.two_sided and abs(distance) < n:
            out[h, i, j] = q[0, i, h] @ table[h, distance + n - 1] / 2
        elif not e.two_sided and 0 <= distance < n:
            out[h, i, j] = q[0, i, h] @ table[h, distance] / 2
    return out


@pytest.mark.slow
@BOTH_SIDES
def test_equation_at_uneven_positions_of_two_streams(bidirectional):
    e, at, to = encoding(bidirectional=bidirectional), [4, 0, 17, 5], [2, 3, 15, 5, 0]
    q = drawn(4)
    np.testing.assert_allclose(
        added(e, q, codes.tokens(at), codes.tokens(to))[0], equation(e, q, at, to), atol=1e-6
    )


@codes.every_kernel
@BOTH_SIDES
@pytest.mark.parametrize("max_distance", [1, full(4), 6, full(20)])
def test_equation_at_an_arange_shorter_and_longer_than_the_table(
    bidirectional, max_distance, compute
):
    e, q = encoding(max_distance, bidirectional), drawn(6)
    found = added(e, q, compute.tokens(range(3, 9)), compute=compute)[0]
    np.testing.assert_allclose(found, equation(e, q, range(6), range(6)), atol=1e-6)


@pytest.mark.slow
def test_a_row_of_positions_for_each_example():
    e, q, rows = encoding(), drawn(3, batch=2), ([0, 1, 5], [2, 3, 8])
    t = codes.tokens(rows[0])
    both = t.__class__(jnp.asarray(rows), jnp.broadcast_to(t.slots, (2, 3)))
    for i, row in enumerate(rows):
        np.testing.assert_allclose(
            added(e, q, both)[i], equation(e, q[i : i + 1], row, row), atol=1e-6
        )


@pytest.mark.full
def test_each_head_and_distance_has_a_vector_of_its_own():
    """Queries of one channel read that channel of the table, halved by sqrt(4)."""
    e = encoding(3)
    q = jnp.zeros((1, 3, 2, 4)).at[..., 1].set(2.0)
    found = added(e, q, codes.tokens(range(3)))[0]
    for h in range(2):
        of_distance = np.asarray(e.table[...])[h, :, 1]  # distances -2..2
        np.testing.assert_allclose(
            found[h], [[of_distance[i - j + 2] for j in range(3)] for i in range(3)], atol=1e-6
        )
    assert len(np.unique(found)) == 2 * 5


@codes.every_form
def test_beyond_the_table_nothing_is_added(compute):
    found = added(encoding(2), drawn(5), compute.tokens(range(5)), compute=compute)[0]
    near = np.abs(np.subtract.outer(range(5), range(5))) < 2
    assert not found[:, ~near].any()
    assert found[:, near].all()


def test_each_layer_has_a_table_of_its_own():
    model = Subject(laws.spec("music_transformer")).build()
    assert models.indices(model.decoder.layer_sites) == ((0,), (1,))
    assert (
        np.abs(
            model.attention_encodings[0].table[...] - model.attention_encodings[1].table[...]
        ).max()
        > 0.01
    )


def test_an_empty_table_is_refused():
    with pytest.raises(ValueError, match="at least 1, got 0"):
        encoding(0)
