"""Attention: one function for logits, masks, softmax and sum, and the layer that calls it.

The same code serves self-attention, causal or not, cross-attention and decoding. They differ in the
keys that queries receive and in the mask.
"""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import weighted_sum
from pe_lab.encodings.ops import masked_softmax
from pe_lab.kernels import REFERENCE, Kernels
from pe_lab.model.terms import AttentionTerms, LayerEncoding, add, on_heads
from pe_lab.runs.run import Model

_SSMAX_START = 0.43  # of SSMax's learned factor: the value of the paper's figure 1


@dataclasses.dataclass(frozen=True)
class Keys:
    """What queries attend to, and what a cache holds.

    Attributes:
      k, v: [B, S, H, Dh].
      features: for each encoding of the layer, its state of the keys.
    """

    k: Any
    v: Any
    features: tuple[Any, ...] = ()


jax.tree_util.register_dataclass(Keys, ["k", "v", "features"], [])


def attend(
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    v: Float[Array, "b s h e"],
    terms: AttentionTerms,
    *,
    kernels: Kernels = REFERENCE,
    log_n_factor: Float[Array, "h"] | float | None = None,
) -> Float[Array, "b l h e"]:
    """Softmax attention with the encodings of a layer. A query that sees no key gets zeros.

    Args:
      terms: the encodings, their tokens, and the mask and bias that depend on positions alone.
      log_n_factor: q·k is multiplied by this times log n, where n keys are visible to the query.
    """
    encodings, mask, bias = terms.encodings, terms.mask, terms.bias
    scale = 1 / math.sqrt(q.shape[-1])
    if log_n_factor is not None:
        q = _scaled_by_log_n(q, mask, log_n_factor)
    raw_q, raw_k = q, k
    for e in encodings:
        content_bias = kernels.hook(e.encoding, "content_bias")(raw_q, raw_k, e.Q, e.K)
        if content_bias is not None:
            bias = add(bias, on_heads(e.heads, content_bias, 0))
        q, k = _transform_qk(e, q, k, kernels)
    replaced = {part for e in encodings for part in e.encoding.requirements.replaces}
    if kernels.attention is not None and not replaced:
        return kernels.attention(q, k, v, mask, bias, scale)

    s = scale * jnp.einsum("blhe,bshe->bhls", q, k, preferred_element_type=jnp.float32)
    if bias is not None:
        s = kernels.add_bias(s, bias)
    for e in encodings:
        transform_logits = kernels.hook(e.encoding, "transform_logits")
        s = on_heads(e.heads, transform_logits(s, raw_q, raw_k, e.Q, e.K, mask), s)

    weights = masked_softmax(s, mask)
    for e in encodings:
        if "normalize" in e.encoding.requirements.replaces:
            weights = on_heads(e.heads, e.encoding.normalize(s, mask), weights)
    weights = weights.astype(v.dtype)

    out = weighted_sum(weights, v)
    for e in encodings:
        if "combine" in e.encoding.requirements.replaces:
            combine = kernels.hook(e.encoding, "combine")
            out = on_heads(e.heads, combine(weights, v, e.Q, e.K), out, axis=2)
    return out


def _transform_qk(e: LayerEncoding, q: Any, k: Any, kernels: Kernels) -> tuple[Any, Any]:
    """Queries and keys as an encoding changes them; other heads keep theirs."""
    new_q, new_k = kernels.hook(e.encoding, "transform_qk")(q, k, e.Q, e.K)
    if e.heads is None:
        return new_q, new_k
    wider = new_q.shape[-1] - q.shape[-1]  # zeros add nothing to a product
    q, k = (jnp.pad(x, ((0, 0), (0, 0), (0, 0), (0, wider))) for x in (q, k))
    return on_heads(e.heads, new_q, q, axis=2), on_heads(e.heads, new_k, k, axis=2)


def _scaled_by_log_n(
    q: Float[Array, "b l h e"], mask: Bool[Array, "_ _ l s"], factor: Any
) -> Float[Array, "b l h e"]:
    """Queries times factor * log n; logits are scaled by it, and biases are not."""
    n = jnp.maximum(mask.sum(axis=-1), 1)  # [B|1, H|1, L]
    factor = jnp.reshape(jnp.asarray(factor, jnp.float32), (1, -1, 1))
    temperature = jnp.log(n.astype(jnp.float32)) * factor
    return (q * jnp.moveaxis(temperature, 1, 2)[..., None]).astype(q.dtype)


class Attention(nnx.Module):
    """Multi-head attention. Padded inputs are zeroed: nothing of them reaches a valid token.

    Optional parts: RMS norms of queries and keys with a learned scale (Henry et al. 2020,
    https://arxiv.org/abs/2010.04245), logits times log n (Chiang and Cholak 2022,
    https://arxiv.org/abs/2202.12172), or SSMax (Nakanishi 2025, https://arxiv.org/abs/2501.19399).

    Args:
      model: sizes and choices.
      kernels: implementations of attention and of matrix products.
    """

    def __init__(self, model: Model, *, kernels: Kernels, rngs: nnx.Rngs):
        width, dtype = model.width, jnp.dtype(model.compute_dtype)

        def linear() -> nnx.Linear:
            product = kernels.dot_general
            return nnx.Linear(
                width, width, use_bias=False, dtype=dtype, dot_general=product, rngs=rngs
            )

        def norm() -> nnx.RMSNorm:
            return nnx.RMSNorm(width // model.num_heads, dtype=dtype, rngs=rngs)

        self.num_heads = model.num_heads
        self.kernels = kernels
        self.query, self.key, self.value, self.out = linear(), linear(), linear(), linear()
        self.query_norm = norm() if model.qk_norm else None
        self.key_norm = norm() if model.qk_norm else None
        is_ssmax = model.logit_temperature == "ssmax"
        start = jnp.full(model.num_heads, _SSMAX_START)
        self.log_n_factor = nnx.Param(start) if is_ssmax else None
        self.log_n = model.logit_temperature == "log_n"

    def keys(
        self,
        x: Float[Array, "b s d"],
        valid: Bool[Array, "b s"],
        terms: AttentionTerms,
        *,
        cross: bool = False,
    ) -> Keys:
        """Keys, values and encodings' features of inputs.

        Args:
          cross: the inputs are those of another stream, and not those of the queries.
        """
        x = jnp.where(valid[..., None], x, 0)
        k, v = self._heads(self.key(x)), self._heads(self.value(x))
        if self.key_norm is not None:
            k = self.key_norm(k)
        features = []
        for e in terms.encodings:
            positions = e.K.positions if cross else e.Q.positions
            features.append(e.encoding.features(x, positions)[1])
        return Keys(k, v, tuple(features))

    def __call__(
        self,
        x: Float[Array, "b l d"],
        valid: Bool[Array, "b l"],
        keys: Keys,
        terms: AttentionTerms,
    ) -> Float[Array, "b l d"]:
        """For each input, the weighted sum of the values that it may see, projected."""
        x = jnp.where(valid[..., None], x, 0)
        q = self._heads(self.query(x))
        if self.query_norm is not None:
            q = self.query_norm(q)
        terms = _with_features(terms, x, keys.features)
        factor: Any = 1.0 if self.log_n else None
        if self.log_n_factor is not None:
            factor = self.log_n_factor[...]
        out = attend(q, keys.k, keys.v, terms, kernels=self.kernels, log_n_factor=factor)
        return self.out(out.reshape(x.shape))

    def _heads(self, x: Float[Array, "b l d"]) -> Float[Array, "b l h e"]:
        return x.reshape(*x.shape[:2], self.num_heads, -1)


def _with_features(
    terms: AttentionTerms, x: Float[Array, "b l d"], of_keys: tuple[Any, ...]
) -> AttentionTerms:
    """The terms with encodings' features of queries and keys."""
    encodings = []
    for e, key_features in zip(terms.encodings, of_keys, strict=True):
        query_features = e.encoding.features(x, e.Q.positions)[0]
        Q = dataclasses.replace(e.Q, features=query_features)
        K = dataclasses.replace(e.K, features=key_features)
        encodings.append(dataclasses.replace(e, Q=Q, K=K))
    return dataclasses.replace(terms, encodings=tuple(encodings))
