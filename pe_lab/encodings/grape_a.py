"""GRAPE-A: ALiBi with slopes that queries and keys gate.

Equation: −d · softplus(ω_h) s_h (softplus(u_h·k_j / √Dh) + softplus(v_h·q_i / √Dh)).
Beyond training: defined.

Zhang et al. 2025, "Group Representational Position Encoding",
https://arxiv.org/abs/2512.07805: additive GRAPE. The three forms, their slopes s_h (ALiBi's) and
their initialization follow model-architectures/GRAPE at f5b539f,
model/llama-mha-grape-a-keygated.py, llama-mha-grape-a-querygated.py and
llama-mha-grape-a-querykeygated.py. There queries and keys are normalized, which is `qk_norm` here.

Differs: distances count on both sides; the authors' code is causal.
"""

import math
from typing import Literal

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.ops import alibi_slopes
from pe_lab.encodings.requirements import Requirements

_EPSILON = 1e-6  # the least length of a direction, as in the authors' code

_LARGEST_START = 80.0  # e^80 is well inside the range of float32


class GRAPEA(AttentionEncoding):
    """Adds -distance * slope * gate to the logits. The gate reads the key, the query or both.

    A gate is the softplus of the projection of a key (or query) on a learned direction of length 1,
    divided by sqrt(Dh). Relative, defined at any distance.

    Args:
      gate: "key", "query", or "both", the sum of the two.
      start: initial value of the factor of ALiBi's slopes, 1 in the authors' code.
    """

    requirements = Requirements(only_bias=True, relative=True, cross=True, per_layer=True)

    def __init__(
        self,
        *,
        gate: Literal["key", "query", "both"] = "key",
        start: float = 1.0,
        num_heads: int,
        head_dim: int,
        rngs: nnx.Rngs,
    ):
        if not 0 < start <= _LARGEST_START:
            raise ValueError(
                f"GRAPEA's start must be above 0 and at most {_LARGEST_START:g}, got {start:g}."
            )
        self.head_dim = head_dim
        self.slopes = alibi_slopes(num_heads)
        factor = math.log(math.expm1(start))  # the inverse of softplus
        self.factors = nnx.Param(jnp.full(num_heads, factor, jnp.float32))

        def direction() -> nnx.Param[Array]:
            normal = jax.random.normal(rngs.params(), (num_heads, head_dim), jnp.float32)
            return nnx.Param(normal / math.sqrt(head_dim))

        self.key_direction = None if gate == "query" else direction()
        self.query_direction = None if gate == "key" else direction()

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        gate = jnp.zeros((), jnp.float32)
        if self.key_direction is not None:
            of_keys = _gate(k, self.key_direction[...])
            gate = gate + of_keys[:, :, None]  # [B, H, 1, S]
        if self.query_direction is not None:
            of_queries = _gate(q, self.query_direction[...])
            gate = gate + of_queries[..., None]
        slope = jax.nn.softplus(self.factors[...]) * jnp.asarray(self.slopes, jnp.float32)
        distance = jnp.abs(relative(Q, K)).astype(jnp.float32)  # [B|1, L, S]
        return -distance[:, None] * slope[None, :, None, None] * gate


def _gate(x: Float[Array, "b l h e"], direction: Float[Array, "h e"]) -> Float[Array, "b h l"]:
    """softplus(u·x / sqrt(Dh)), where u is the direction with length 1."""
    squared_length = (direction**2).sum(axis=-1, keepdims=True)
    # The maximum is inside of the root, whose gradient at 0 is infinite.
    length = jnp.sqrt(jnp.maximum(squared_length, _EPSILON**2))
    unit = direction / length
    projection = jnp.einsum("blhe,he->bhl", x.astype(jnp.float32), unit)
    return jax.nn.softplus(projection / math.sqrt(x.shape[-1]))
