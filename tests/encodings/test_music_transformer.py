import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.music_transformer import MusicTransformer
from tests.encodings import codes
from tests.marks import full

SENSITIVE = {"max_distance": (1024, 5)}
REFUSALS = [
    (dict(max_distance=0), "at least 1, got 0"),
]

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
