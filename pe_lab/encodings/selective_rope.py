"""Selective RoPE: rotation by the sum of angles that each token gives.

Equation: RoPE by summed, low-rank steps of the tokens.
Beyond training: defined.

Movahedi et al. 2025, "Selective Rotary Position Embedding", https://arxiv.org/abs/2511.17388.
Projections, defaults and initialization follow timurcarstensen/selective-rope at 9d06c33,
modules/rotary.py.

The authors' causal convolution of the steps (d_conv, 4 by default there, without an activation) is
convolution=4, with the initial values of PyTorch. Without it, a token's step comes from the token
alone. (Their skip_conv is something else: it takes differences of steps, which the sum undoes.)
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import (
    causal_convolution,
    check_finite,
    check_positive,
    convolution_kernel,
    rotate,
)
from pe_lab.encodings.requirements import Requirements

_EPSILON = 1e-6  # added to the squared length of the input, as in the authors' code


class SelectiveRoPE(AttentionEncoding):
    """Pair m rotates by temperature * base^(-2m / Dh) * the sum of the steps up to the token.

    Pair m is channels m and m + Dh / 2. A step is a low-rank projection of the token's input, in
    which the part of each head is normalized to length 1. Relative; it reads no positions, only the
    order of tokens. Defined at any distance; a sum of 1000 is exact to about 1e-4 (float32). Causal
    only.

    Args:
      rank: rank of the projection, 16 in the authors' code.
      base: base of the geometric series of factors, 500000 in the authors' code.
      temperature: factor of the first pair, 1 in the authors' code.
      gate: multiply the steps of each head by sigmoid(w·x + b); off in the authors' code.
      convolution: tokens that a step is computed from, by a causal convolution before the gate; 0:
        its own token alone, without a convolution.
    """

    later_arguments = ("convolution",)
    requirements = Requirements(
        relative=True,
        reads_positions=False,
        reads_between=True,
        bidirectional=False,
        per_layer=True,
    )

    def __init__(
        self,
        *,
        rank: int = 16,
        base: float = 500000.0,
        temperature: float = 1.0,
        gate: bool = False,
        convolution: int = 0,
        width: int,
        num_heads: int,
        head_dim: int,
        rngs: nnx.Rngs,
    ):
        if head_dim % 2:
            raise ValueError(
                f"SelectiveRoPE rotates pairs, so the head width must be even, got {head_dim}."
            )
        if rank < 1:
            raise ValueError(f"SelectiveRoPE's rank must be at least 1, got {rank}.")
        if convolution < 0:
            raise ValueError(f"SelectiveRoPE's convolution must be at least 0, got {convolution}.")
        check_positive("SelectiveRoPE", base=base)
        check_finite("SelectiveRoPE", temperature=temperature)
        self.head_dim = head_dim
        linear = functools.partial(
            nnx.Linear,
            kernel_init=nnx.initializers.normal(0.02),
            dtype=jnp.float32,  # in every model: sums of many steps are exact to 1e-4
            rngs=rngs,
        )
        exponents = -np.arange(0, head_dim, 2) / head_dim
        factors = temperature * base**exponents
        num_pairs = num_heads * head_dim // 2
        self.factors = tuple(factors.tolist())
        self.down = linear(width, rank, use_bias=False)
        self.up = linear(rank, num_pairs, use_bias=False)
        self.gate = linear(width, num_heads) if gate else None
        kernel = None
        if convolution:
            kernel = convolution_kernel(convolution, (num_heads, head_dim // 2), rngs)
        self.kernel = kernel
        self.num_heads = num_heads

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[None, tuple[Float[Array, "b l h p"], Float[Array, "b l h"] | None]]:
        """The steps of each token's pairs, before convolution, gate and factors; and the gate."""
        batch, length, _ = x.shape
        parts = x.astype(jnp.float32)
        parts = parts.reshape(batch, length, self.num_heads, -1)
        squared_length = (parts**2).sum(axis=-1, keepdims=True)
        parts = parts * jax.lax.rsqrt(squared_length + _EPSILON)
        x = parts.reshape(x.shape)
        steps = self.up(self.down(x))
        steps = steps.reshape(batch, length, self.num_heads, -1)
        if self.gate is None:
            return None, (steps, None)
        gate = jax.nn.sigmoid(self.gate(x))  # [B, L, H]
        return None, (steps, gate)

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        assert Q.slots is not None
        steps, gate = K.features
        if self.kernel is not None:
            preceding = K.slots if K.preceding is None else K.preceding
            assert preceding is not None
            steps = causal_convolution(steps, self.kernel[...], preceding)
        if gate is not None:
            steps = steps * gate[..., None]
        sums = jnp.cumsum(steps, axis=1)  # [B, S, H, P]
        key_angles = sums * jnp.asarray(self.factors, jnp.float32)[None, None, None]
        # A query has the angle of its own key, which a cache holds at the query's slot.
        query_slots = Q.slots[..., None, None]
        query_angles = jnp.take_along_axis(key_angles, query_slots, axis=1)
        q = rotate(q, query_angles, "half")
        k = rotate(k, key_angles, "half")
        return q, k
