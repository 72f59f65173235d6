"""Scalings of RoPE, and queries that it has rotated."""

import dataclasses

import jax.numpy as jnp
import numpy as np

from pe_lab.encodings.rope import RoPE
from tests.encodings import codes

LINEAR, NTK = dict(scaling="linear", factor=4.0), dict(scaling="ntk", factor=4.0)
YARN, LLAMA3 = (dict(scaling=s, factor=4.0, trained_length=2048) for s in ("yarn", "llama3"))
DYNAMIC = dict(scaling="dynamic_ntk", factor=4.0, trained_length=2048)
LONGROPE = dict(
    scaling="longrope",
    factor=4.0,
    trained_length=4,
    long_factors=(1.0, 2.0, 3.0, 4.0),
    short_factors=(1.0, 1.0, 1.5, 1.5),
)


def rotated(x, position, length=None, **arguments):
    """A query of x at a position, in an example of a length."""
    x, tokens = jnp.asarray(x)[None, None, None], told([position], length)
    return RoPE(head_dim=x.shape[-1], **arguments).transform_qk(x, x, tokens, tokens)[0][0, 0, 0]


def told(positions, length=None):
    return dataclasses.replace(
        codes.tokens(positions), lengths=None if length is None else jnp.asarray([length])
    )


def seen(head_dim, length=None, **arguments):
    """Each pair's angle per position and growth, as a query shows them."""
    y = np.asarray(rotated(np.tile([1.0, 0.0], head_dim // 2), 1, length, **arguments), np.float64)
    return np.arctan2(y[1::2], y[0::2]), np.hypot(y[0::2], y[1::2])
