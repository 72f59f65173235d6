"""Attention: one function where scores, scale, mask and softmax are computed, and its layer."""

import math

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens


def attend(
    encoding: AttentionEncoding,
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    v: Float[Array, "b s h e"],
    Q: Tokens,
    K: Tokens,
    mask: Bool[Array, "_ _ l s"],
    *,
    bias: Float[Array, "_ _ l s"] | None = None,
    fused: bool = False,
) -> Float[Array, "b l h e"]:
    """Softmax attention with one encoding (several: a Chain). A query that sees no key gets zeros.

    Args:
      Q, K: what the encoding is told of queries and keys.
      mask: True where a query may attend to a key.
      bias: the encoding's, if the caller has computed it already.
      fused: use jax.nn.dot_product_attention where the encoding allows it.
    """
    scale, head_dim = 1 / math.sqrt(q.shape[-1]), v.shape[-1]
    raw_q, raw_k = q, k
    q, k = encoding.qk(q, k, Q, K)
    if bias is None:
        bias = encoding.bias(Q, K)
    if (own := encoding.mask(Q, K)) is not None:
        mask = mask & own
    if fused and encoding.fusable:
        wider = q.shape[-1] - head_dim  # the fused function wants values as wide as keys
        values = jnp.pad(v, ((0, 0), (0, 0), (0, 0), (0, wider)))
        out = jax.nn.dot_product_attention(q, k, values, bias=bias, mask=mask, scale=scale)[..., :head_dim]
        return jnp.where(jnp.moveaxis(mask.any(axis=-1, keepdims=True), 1, 2), out, 0)
    s = scale * jnp.einsum("blhe,bshe->bhls", q, k).astype(jnp.float32)
    if bias is not None:
        s = s + bias
    s = encoding.scores(s, raw_q, raw_k, Q, K, mask)
    return encoding.mix(encoding.weights(s, mask).astype(v.dtype), v, Q, K)


def visible(tokens: Tokens, valid: Bool[Array, "b l"], segments: Array | None, causal: bool) -> Bool[Array, "_ _ l l"]:
    """[B, 1, L, L]: keys that are no padding, of the query's segment and, if causal, not after it."""
    mask = jnp.broadcast_to(valid[:, None, None, :], (len(valid), 1, valid.shape[1], valid.shape[1]))
    if causal:
        mask = mask & (tokens.slots[None, :] <= tokens.slots[:, None])[None, None]
    if segments is not None:
        mask = mask & (segments[:, None, :, None] == segments[:, None, None, :])
    return mask


class Attention(nnx.Module):
    """Multi-head self-attention. Padded inputs are zeroed first: nothing of them reaches a valid token.

    Args:
      width: D.
      num_heads: H, a divisor of D.
    """

    def __init__(self, width: int, num_heads: int, *, rngs: nnx.Rngs):
        def linear() -> nnx.Linear:
            return nnx.Linear(width, width, use_bias=False, rngs=rngs)

        self.num_heads = num_heads
        self.query, self.key, self.value, self.out = linear(), linear(), linear(), linear()

    def __call__(
        self,
        x: Float[Array, "b l d"],
        tokens: Tokens,
        encoding: AttentionEncoding,
        valid: Bool[Array, "b l"],
        mask: Bool[Array, "_ _ l l"],
        *,
        bias: Float[Array, "_ _ l l"] | None = None,
        fused: bool = False,
    ) -> Float[Array, "b l d"]:
        x = jnp.where(valid[..., None], x, 0)
        q, k, v = (f(x).reshape(*x.shape[:2], self.num_heads, -1) for f in (self.query, self.key, self.value))
        of_queries, of_keys = encoding.features(x, tokens.positions)
        Q, K = with_features(tokens, of_queries), with_features(tokens, of_keys)
        out = attend(encoding, q, k, v, Q, K, mask, bias=bias, fused=fused)
        return self.out(out.reshape(x.shape))


def with_features(tokens: Tokens, features: object) -> Tokens:
    return Tokens(tokens.positions, tokens.slots, tokens.lengths, features, tokens.arange)
