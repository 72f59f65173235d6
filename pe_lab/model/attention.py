"""Attention: one function for logits, masks, softmax and sum, and the layer that calls it.

The same code serves self-attention, causal or not, cross-attention and decoding. They differ in the
keys that queries receive and in the mask.
"""

import math
from collections.abc import Sequence
from typing import Literal

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import weighted_sum
from pe_lab.kernels import REFERENCE, Kernels
from pe_lab.model import head_widths
from pe_lab.model.convolution import Neighbors, convolve
from pe_lab.model.gates import OutputGate, add_sink_key, softmax_with_sinks
from pe_lab.model.keys import Keys
from pe_lab.model.terms import AttentionTerms, LayerEncoding, add, with_features
from pe_lab.runs.settings.settings import Model

_SSMAX_START = 0.43  # of SSMax's learned factor: the value of the paper's figure 1


def attend(
    q: Float[Array, "b l h e"],
    k: Float[Array, "b s h e"],
    v: Float[Array, "b s h e"],
    terms: AttentionTerms,
    *,
    kernels: Kernels = REFERENCE,
    log_n_factor: Float[Array, "h"] | float | None = None,
    sinks: Float[Array, "h"] | None = None,
) -> Float[Array, "b l h e"]:
    """Softmax attention with the encodings of a layer. A query that sees no key gets zeros.

    Args:
      terms: the encodings, their tokens, and the mask and bias that depend on positions alone.
      log_n_factor: q·k is multiplied by this times log n, where n keys are visible to the query.
      sinks: logit of each head that takes a part of the weight and has no value.
    """
    encodings, mask, bias = terms.encodings, terms.mask, terms.bias
    scale = 1 / math.sqrt(q.shape[-1])  # before an encoding widens queries and keys
    if log_n_factor is not None:
        q = _scale_by_log_n(q, mask, log_n_factor)

    raw_q, raw_k = q, k  # for hooks that read content, whatever encodings do to q and k
    widths = np.full(q.shape[2], q.shape[3])  # of each head's queries and keys
    # In the order of the config: an encoding transforms the queries and keys of those before it.
    for e in encodings:
        content_bias = kernels.hook(e.encoding, "content_bias")
        term = content_bias(raw_q, raw_k, e.Q, e.K)
        if term is not None:
            bias = add(bias, e.acting(term, 0))
        q, k, widths = head_widths.transform_qk(e, q, k, widths, kernels)

    # The fused path: softmax attention that no encoding replaces a part of.
    replaced_parts = [e.encoding.requirements.replaces for e in encodings]
    if kernels.attention is not None and not any(replaced_parts):
        # A fused kernel knows no sink, so the sink becomes a key with a bias.
        if sinks is not None:
            k, v, mask, bias = add_sink_key(k, v, mask, bias, sinks)
        causal = terms.causal and sinks is None  # a sink is a last key, which every query sees
        return kernels.attention(q, k, v, mask, bias, scale, causal)

    # In float32 also in bfloat16 models, because biases and softmax are float32.
    s = scale * jnp.einsum("blhe,bshe->bhls", q, k, preferred_element_type=jnp.float32)
    if bias is not None:
        s = kernels.add_bias(s, bias)
    # After all biases, because CoPE and DAPE read the logits with them.
    for e in encodings:
        transform_logits = kernels.hook(e.encoding, "transform_logits")
        new_s = transform_logits(s, raw_q, raw_k, e.Q, e.K, mask)
        s = e.acting(new_s, s)

    # Converted only now: softmax is float32 in every model.
    weights = _normalized(s, mask, sinks, encodings).astype(v.dtype)
    out = weighted_sum(weights, v)
    for e in encodings:
        if "combine" in e.encoding.requirements.replaces:
            combine = kernels.hook(e.encoding, "combine")
            new_out = combine(weights, v, e.Q, e.K)
            out = e.acting(new_out, out, axis=2)  # heads are axis 2 of [B, L, H, Dh]
    return out


def _normalized(
    s: Float[Array, "b h l s"],
    mask: Bool[Array, "_ _ l s"],
    sinks: Float[Array, "h"] | None,
    encodings: Sequence[LayerEncoding],
) -> Float[Array, "b h l s"]:
    """The weights of logits: their softmax, or what an encoding has in its place."""
    weights = softmax_with_sinks(s, mask, sinks)
    for e in encodings:
        if "normalize" in e.encoding.requirements.replaces:
            new_weights = e.encoding.normalize(s, mask)
            weights = e.acting(new_weights, weights)
    return weights


def _scale_by_log_n(
    q: Float[Array, "b l h e"],
    mask: Bool[Array, "_ _ l s"],
    factor: Float[Array, "h"] | float,
) -> Float[Array, "b l h e"]:
    """Queries times factor * log n. It scales q·k and biases that read q, and no other biases."""
    num_visible = mask.sum(axis=-1)  # [B|1, H|1, L]
    n = jnp.maximum(num_visible, 1)  # a query without keys: log 0 is infinite
    factor_of_head = jnp.asarray(factor, jnp.float32)
    factor_of_head = jnp.reshape(factor_of_head, (1, -1, 1))
    log_n = jnp.log(n.astype(jnp.float32))
    temperature = log_n * factor_of_head
    temperature = jnp.moveaxis(temperature, 1, 2)
    temperature = temperature[..., None]  # [B|1, L, H|1, 1]
    return (q * temperature).astype(q.dtype)


class Attention(nnx.Module):
    """Multi-head attention. Padded inputs are zeroed and never reach a valid token.

    Queries, keys and values may share a matrix. Optional parts: RMS norms of queries and keys with
    a learned scale (Henry et al. 2020, https://arxiv.org/abs/2010.04245), logits times log n
    (Chiang and Cholak 2022, https://arxiv.org/abs/2202.12172), or SSMax (Nakanishi 2025,
    https://arxiv.org/abs/2501.19399).

    Args:
      model: sizes and choices.
      kernels: implementations of attention and of matrix products.
    """

    def __init__(self, model: Model, *, kernels: Kernels, rngs: nnx.Rngs):
        width = model.width
        head_width = width // model.num_heads
        dtype = jnp.dtype(model.compute_dtype)

        def linear() -> nnx.Linear:
            return nnx.Linear(
                width,
                width,
                use_bias=False,
                dtype=dtype,
                dot_general=kernels.dot_general,
                rngs=rngs,
            )

        def norm() -> nnx.RMSNorm:
            return nnx.RMSNorm(head_width, dtype=dtype, rngs=rngs)

        self.num_heads = model.num_heads
        self.kernels = kernels
        self.query = linear()
        key = linear()
        value = linear()
        self.out = linear()
        # Drawn even if dropped, so that the other matrices start as in a model that shares none.
        self.key = key if model.shared_projections == "none" else None
        self.value = None if model.shared_projections == "qkv" else value
        # `attend` divides q·k by sqrt(Dh); queries that are longer by this factor undo it.
        self.query_scale = 1.0 if model.scale_logits else math.sqrt(head_width)
        self.query_norm = norm() if model.qk_norm else None
        self.key_norm = norm() if model.qk_norm else None
        is_ssmax = model.logit_temperature == "ssmax"
        start = jnp.full(model.num_heads, _SSMAX_START, jnp.float32)
        self.log_n_factor = nnx.Param(start) if is_ssmax else None
        self.log_n = model.logit_temperature == "log_n"
        gate = None
        if model.output_gate != "none" or model.head_output_norm:
            # A separate random stream: the other parameters start as in a model without a gate.
            gate = OutputGate(model, kernels=kernels, rngs=nnx.Rngs(params=rngs.additions()))
        self.gate = gate
        self.sinks = (
            nnx.Param(jnp.zeros(model.num_heads, jnp.float32)) if model.learned_sinks else None
        )

    def keys(
        self,
        x: Float[Array, "b s d"],
        valid: Bool[Array, "b s"],
        terms: AttentionTerms,
        *,
        cross: bool = False,
        neighbors: Neighbors | None = None,
    ) -> Keys:
        """Keys, values and encodings' features of inputs.

        Args:
          cross: the inputs belong to another stream than the queries.
          neighbors: the tokens before these, which convolutions, shift and offset read.
        """
        # A weight of 0 would not remove a NaN of a padded input.
        x = jnp.where(valid[..., None], x, 0)
        k = self._split_heads(self.projection("key")(x))
        v = self._split_heads(self.projection("value")(x))
        if neighbors is not None:
            k = neighbors.shift("key", k, x)
            v = neighbors.shift("value", v, x)
        if self.key_norm is not None:
            k = self.key_norm(k)
        k = convolve(neighbors, "B_key", k)
        if neighbors is not None:
            k = neighbors.offset(k)
        v = convolve(neighbors, "B_value", v)
        features = []
        for e in terms.encodings:
            # In self-attention `e.K` may be a whole cache, and the inputs are the queries.
            tokens = e.K if cross else e.Q
            _, key_features = e.encoding.features(x, tokens.positions)
            features.append(key_features)
        return Keys(k, v, tuple(features))

    def __call__(
        self,
        x: Float[Array, "b l d"],
        valid: Bool[Array, "b l"],
        keys: Keys,
        terms: AttentionTerms,
        neighbors: Neighbors | None = None,
    ) -> Float[Array, "b l d"]:
        """For each input, the weighted sum of the values that it may see, projected."""
        x = jnp.where(valid[..., None], x, 0)
        q = self._split_heads(self.query(x))
        if self.query_norm is not None:
            q = self.query_norm(q)
        q = convolve(neighbors, "B_query", q)
        if self.query_scale != 1:
            q = q * self.query_scale
        terms = with_features(terms, x, keys.features)
        factor: Array | float | None = None
        if self.log_n:
            factor = 1.0
        if self.log_n_factor is not None:
            factor = self.log_n_factor[...]
        out = attend(
            q,
            keys.k,
            keys.v,
            terms,
            kernels=self.kernels,
            log_n_factor=factor,
            sinks=None if self.sinks is None else self.sinks[...],
        )
        if self.gate is not None:
            out = self.gate(out, x)
        out = out.reshape(x.shape)
        return self.out(out)

    def projection(self, name: Literal["query", "key", "value"]) -> nnx.Linear:
        """The matrix of queries, keys or values; the query matrix where it is shared."""
        matrix = getattr(self, name)
        return self.query if matrix is None else matrix

    def _split_heads(self, x: Float[Array, "b l d"]) -> Float[Array, "b l h e"]:
        batch, length, _ = x.shape
        return x.reshape(batch, length, self.num_heads, -1)
