"""Exact softmax attention for CPUs and narrow heads, with its own gradient.

Tokens are on the minor axis, so that tokens fill the vector registers instead of the few channels
of a head. Products with narrow heads are multiply-adds, which are fused with the exponential. The
weighted sum is normalized at the end, and its denominators are one more row of the same product.
The maximum is subtracted only if exp could overflow.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

_BATCH = ((0, 1), (0, 1))
_SAFE_LOGIT = 60.0  # exp(60), and sums and products of some of them, are well inside float32
_NARROW = 16  # channels up to which multiply-adds are faster than a product of matrices


def attention(
    q: Float[Array, "b l h f"],
    k: Float[Array, "b s h f"],
    v: Float[Array, "b s h e"],
    mask: Bool[Array, "_ _ l s"],
    bias: Float[Array, "_ _ l s"] | None = None,
    scale: float = 1.0,
) -> Float[Array, "b l h e"]:
    """softmax(scale q·k + bias) v over the allowed keys; zeros for a query that sees no key."""
    dtype = v.dtype
    q, k, v = (jnp.transpose(x.astype(jnp.float32), (2, 0, 3, 1)) for x in (q, k, v))
    q = q * scale
    mask = jnp.transpose(mask, (1, 0, 3, 2))
    bias = None if bias is None else jnp.transpose(bias.astype(jnp.float32), (1, 0, 3, 2))
    return jnp.transpose(_attention(q, k, v, mask, bias), (1, 3, 0, 2)).astype(dtype)


@jax.custom_vjp
def _attention(q, k, v, mask, bias):
    """q, k, v [H, B, channels, tokens]; mask and bias [H|1, B|1, S, L]."""
    return _forward(q, k, v, mask, bias)[0]


def _forward(q, k, v, mask, bias):
    e = _exponentials(q, k, mask, bias)
    summed = _dot(
        jnp.concatenate([v, jnp.ones_like(v[:, :, :1])], axis=2), e, 3, 2
    )  # its last row: the denominators
    n = summed[:, :, -1:]
    r = jnp.where(n > 0, 1 / jnp.where(n > 0, n, 1), jnp.where(n == 0, 0, n))  # NaN stays NaN
    o = summed[:, :, :-1] * r
    return o, (q, k, v, e, o, r, None if bias is None else bias[:, :, :0])  # of the bias, its shape


def _backward(saved, g):
    q, k, v, e, o, r, shared = saved
    g = g * r
    d = (g * o).sum(2, keepdims=True)
    g, v1 = lax.optimization_barrier(
        (jnp.concatenate([g, -d], 2), jnp.concatenate([v, jnp.ones_like(v[:, :, :1])], 2))
    )
    ds = e * _outer(v1, g)
    g = g[:, :, :-1]
    of_bias = None if shared is None else _summed(ds, shared.shape)
    return _dot(k, ds, 3, 2), _dot(q, ds, 3, 3), _dot(g, e, 3, 3), None, of_bias


def _exponentials(q, k, mask, bias) -> Any:
    """exp of the logits [H, B, S, L], up to one factor for each query; 0 where masked."""

    def direct(q, k):
        return jnp.where(mask, jnp.exp(_logits(q, k, bias)), 0.0)

    def shifted(q, k):
        s = jnp.where(mask, _logits(q, k, bias), jnp.finfo(jnp.float32).min)
        return jnp.where(mask, jnp.exp(s - s.max(2, keepdims=True)), 0.0)

    largest = jnp.sqrt(
        jnp.square(q).sum(2).max() * jnp.square(k).sum(2).max()
    )  # of all products, by Cauchy and Schwarz
    return lax.cond(largest + _reach(bias, mask) < _SAFE_LOGIT, direct, shifted, q, k)


def _logits(q, k, bias) -> Any:
    return _outer(k, q) if bias is None else _outer(k, q) + bias


def _reach(bias: Any, mask: Any) -> Any:
    """Largest bias at any key, or largest negative bias at the best visible key of a query.

    Where every query sees its own key, the bias of that key bounds the best one from below.
    """
    if bias is None:
        return 0.0
    lowest = bias.min()
    if bias.shape[2] == bias.shape[3]:
        itself = jnp.diagonal(mask, axis1=2, axis2=3)
        sees_itself = (itself | ~mask.any(axis=2)).all()
        lowest = jnp.where(sees_itself, jnp.diagonal(bias, axis1=2, axis2=3).min(), lowest)
    return jnp.maximum(bias.max(), -lowest)


def _outer(a, b):
    """a[..., d, j] b[..., d, i] summed over d -> [..., j, i]."""
    if a.shape[2] > _NARROW:
        return _dot(a, b, 2, 2)
    s = a[:, :, 0, :, None] * b[:, :, 0, None, :]
    for d in range(1, a.shape[2]):
        s = s + a[:, :, d, :, None] * b[:, :, d, None, :]
    return s


def _dot(a, b, axis_a, axis_b):
    return lax.dot_general(a, b, (((axis_a,), (axis_b,)), _BATCH))


def _summed(ds, shape):
    """The gradient of a bias that heads or examples share.

    A product with ones takes a tenth of the time of a sum on a CPU.
    """
    for axis, size in enumerate(shape[:2]):
        if size < ds.shape[axis]:
            ds = jnp.expand_dims(
                jnp.tensordot(jnp.ones(ds.shape[axis]), ds, (0, axis), precision="highest"), axis
            )
    return ds


_attention.defvjp(_forward, _backward)


@jax.custom_vjp
def add_bias(s: Float[Array, "b h l s"], bias: Float[Array, "_ _ l s"]) -> Float[Array, "b h l s"]:
    """The sum. A bias that examples or heads share gets its gradient by a product with ones."""
    return s + bias


def _add_bias_forward(s, bias):
    return s + bias, jnp.zeros((*bias.shape[:2], 0))


def _add_bias_backward(saved, g):
    return g, _summed(g, saved.shape)


add_bias.defvjp(_add_bias_forward, _add_bias_backward)
