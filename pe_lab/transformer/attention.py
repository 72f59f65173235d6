"""Attention: one function where scores, scale, mask and softmax are computed; its layer, its cache.

The same code serves self-attention, causal or not, cross-attention and decoding: what differs is which
keys a query is given, and which of them it may see.
"""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float, Int

from pe_lab import config
from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.transformer import attention_cpu, products

_SSMAX_START = 0.43  # of SSMax's learned factor: the value of the paper's figure 1


@dataclasses.dataclass(frozen=True)
class Keys:
    """What queries attend to: raw keys and values, and what the encoding is told of them.

    Attributes:
      k, v: [B, S, H, Dh].
      tokens: their positions, slots and features.
    """

    k: Any
    v: Any
    tokens: Tokens


jax.tree_util.register_dataclass(Keys, ["k", "v", "tokens"], [])


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
    log_n_factor: Float[Array, "h"] | float | None = None,
    fused: bool = False,
) -> Float[Array, "b l h e"]:
    """Softmax attention with one encoding (several: a Chain). A query that sees no key gets zeros.

    Args:
      Q, K: what the encoding is told of queries and keys.
      mask: True where a query may attend to a key.
      bias: the encoding's, if the caller has computed it already.
      log_n_factor: q·k is multiplied by this times log n, where n keys are in the query's sight.
      fused: use a fused form where the encoding allows it: on a CPU attention_cpu's, elsewhere jax.nn.dot_product_attention.
    """
    scale = 1 / math.sqrt(q.shape[-1])
    if (own := encoding.mask(Q, K)) is not None:
        mask = mask & own
    if log_n_factor is not None:
        q = _tempered(q, mask, log_n_factor)
    raw_q, raw_k = q, k
    q, k = encoding.qk(q, k, Q, K)
    if bias is None:
        bias = encoding.bias(Q, K)
    if fused and encoding.fusable:
        if encoding.acts_in("scores"):
            nothing = jnp.zeros((len(q), q.shape[2], q.shape[1], k.shape[1]), jnp.float32)
            bias = encoding.scores(nothing if bias is None else nothing + bias, raw_q, raw_k, Q, K, mask)
        form = attention_cpu.attention if jax.default_backend() == "cpu" else _fused
        return form(q, k, v, mask, bias, scale)
    s = scale * jnp.einsum("blhe,bshe->bhls", q, k, preferred_element_type=jnp.float32)
    if bias is not None:
        s = add_bias(s, bias)
    s = encoding.scores(s, raw_q, raw_k, Q, K, mask)
    return encoding.mix(encoding.weights(s, mask).astype(v.dtype), v, Q, K)


def _fused(q, k, v, mask, bias, scale):
    """JAX's fused attention."""
    wider = q.shape[-1] - v.shape[-1]  # it wants values as wide as keys
    values = jnp.pad(v, ((0, 0), (0, 0), (0, 0), (0, wider)))
    out = jax.nn.dot_product_attention(q, k, values, bias=bias, mask=mask, scale=scale)[..., : v.shape[-1]]
    return jnp.where(jnp.moveaxis(mask.any(axis=-1, keepdims=True), 1, 2), out, 0)


@jax.custom_vjp
def add_bias(s: Float[Array, "b h l s"], bias: Float[Array, "_ _ l s"]) -> Float[Array, "b h l s"]:
    """The sum. Its gradient adds up examples and heads that share a bias by a product with ones, on a CPU a tenth of a sum's time."""
    return s + bias


def _add_bias_forward(s, bias):
    return s + bias, bias.shape[:2]


def _add_bias_backward(shared, g):
    of_bias = g
    for axis, size in enumerate(shared):
        if size == 1 < g.shape[axis]:
            ones = jnp.ones(g.shape[axis], g.dtype)
            of_bias = jnp.expand_dims(jnp.tensordot(ones, of_bias, (0, axis), precision="highest"), axis)
    return g, of_bias


add_bias.defvjp(_add_bias_forward, _add_bias_backward)


def _tempered(q: Float[Array, "b l h e"], mask: Bool[Array, "_ _ l s"], factor: Any) -> Float[Array, "b l h e"]:
    """Queries times factor * log n: every product with a key then is, and a bias is not."""
    n = jnp.maximum(mask.sum(axis=-1), 1)  # [B|1, H|1, L]
    temperature = jnp.log(n.astype(jnp.float32)) * jnp.reshape(jnp.asarray(factor, jnp.float32), (1, -1, 1))
    return (q * jnp.moveaxis(temperature, 1, 2)[..., None]).astype(q.dtype)


def visible(
    Q: Tokens,
    K: Tokens,
    valid: Bool[Array, "b s"],
    *,
    causal: bool,
    window: int | None = None,
    segments: tuple[Int[Array, "b l"], Int[Array, "b s"]] | None = None,
    sink: bool = False,
) -> Bool[Array, "_ _ l s"]:
    """[B, 1, L, S]: keys that are no padding and, as asked, not after the query, near it, of its segment.

    Args:
      valid: True at keys that are no padding.
      causal: a query sees no later slot.
      window: a query sees slots less than this far away.
      segments: of queries and keys; only equal ones see each other.
      sink: slot 0 is a sink token: every query sees it, and it sees itself alone.
    """
    mask = valid[:, None, None, :]
    ahead = K.slots[:, None, None, :] - Q.slots[:, None, :, None]
    if causal:
        mask = mask & (ahead <= 0)
    if window is not None:
        mask = mask & (jnp.abs(ahead) < window)
    if segments is not None:
        mask = mask & (segments[0][:, None, :, None] == segments[1][:, None, None, :])
    if sink:
        from_sink, to_sink = Q.slots[:, None, :, None] == 0, K.slots[:, None, None, :] == 0
        mask = jnp.where(from_sink | to_sink, to_sink, mask)
    return jnp.broadcast_to(mask, (len(valid), 1, Q.positions.shape[1], valid.shape[1]))


class Attention(nnx.Module):
    """Multi-head attention. Padded inputs are zeroed first: nothing of them reaches a valid token.

    Optional parts, each with its source: norms of queries and keys (Henry et al. 2020,
    https://arxiv.org/abs/2010.04245; here RMS norms with a learned scale), a temperature of log n
    (Chiang and Cholak 2022, https://arxiv.org/abs/2202.12172) or SSMax (Nakanishi 2025,
    https://arxiv.org/abs/2501.19399).

    Args:
      model: its sizes and choices.
    """

    def __init__(self, model: config.Model, *, rngs: nnx.Rngs):
        width, head_dim = model.width, model.width // model.num_heads

        def linear() -> nnx.Linear:
            return nnx.Linear(
                width, width, use_bias=False, dtype=jnp.dtype(model.compute_dtype), dot_general=products.dot_general, rngs=rngs
            )

        def norm() -> nnx.RMSNorm | None:
            return nnx.RMSNorm(head_dim, dtype=jnp.dtype(model.compute_dtype), rngs=rngs) if model.qk_norm else None

        self.num_heads = model.num_heads
        self.query, self.key, self.value, self.out = linear(), linear(), linear(), linear()
        self.query_norm, self.key_norm = norm(), norm()
        learned = model.logit_temperature == "ssmax"
        self.log_n_factor = nnx.Param(jnp.full(model.num_heads, _SSMAX_START)) if learned else None
        self.log_n = model.logit_temperature == "log_n"

    def keys(self, x: Float[Array, "b s d"], tokens: Tokens, encoding: AttentionEncoding, valid: Bool[Array, "b s"]) -> Keys:
        """The raw keys, values and features of inputs: what a cache holds."""
        x = jnp.where(valid[..., None], x, 0)
        k, v = self._heads(self.key(x)), self._heads(self.value(x))
        k = k if self.key_norm is None else self.key_norm(k)
        return Keys(k, v, dataclasses.replace(tokens, features=encoding.features(x, tokens.positions)[1]))

    def __call__(
        self,
        x: Float[Array, "b l d"],
        tokens: Tokens,
        keys: Keys,
        encoding: AttentionEncoding,
        valid: Bool[Array, "b l"],
        mask: Bool[Array, "_ _ l s"],
        *,
        bias: Float[Array, "_ _ l s"] | None = None,
        fused: bool = False,
    ) -> Float[Array, "b l d"]:
        """What each input gathers from the keys that the mask lets it see."""
        x = jnp.where(valid[..., None], x, 0)
        q = self._heads(self.query(x))
        q = q if self.query_norm is None else self.query_norm(q)
        Q = dataclasses.replace(tokens, features=encoding.features(x, tokens.positions)[0])
        factor = self.log_n_factor[...] if self.log_n_factor is not None else 1.0 if self.log_n else None
        out = attend(encoding, q, keys.k, keys.v, Q, keys.tokens, mask, bias=bias, log_n_factor=factor, fused=fused)
        return self.out(out.reshape(x.shape))

    def _heads(self, x: Float[Array, "b l d"]) -> Float[Array, "b l h e"]:
        return x.reshape(*x.shape[:2], self.num_heads, -1)
