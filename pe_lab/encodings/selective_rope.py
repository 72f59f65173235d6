"""Selective RoPE: rotation by angles that tokens choose, summed up to each token.

Movahedi et al. 2025, "Selective Rotary Position Embedding", https://arxiv.org/abs/2511.17388; projections, defaults and
starts as in timurcarstensen/selective-rope at 9d06c33, modules/rotary.py.

Differs in that a token's step comes from the token alone: a causal convolution of four tokens needs a carry beside
the cache. (That code's skip_conv is another thing: it takes differences of steps, which the sum undoes.)
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, rotate

_EPSILON = 1e-6  # beside the squared length of the input, as in the authors' code


class SelectiveRoPE(AttentionEncoding):
    """Pair m, channels m and m + Dh / 2, turns by temperature * base^(-2m / Dh) * the sum of steps up to the token.

    A step is a low-rank projection of the token's input, whose part of every head has length 1. Relative; it reads no
    positions, only the order of tokens. Defined at any distance; a sum of 1000 is right to about 1e-4 (float32).
    Causal only.

    Args:
      rank: of the projection, 16 in the authors' code.
      base: of the geometric series of factors, 500000 in the authors' code.
      temperature: the first pair's factor, 1 in the authors' code.
      gate: steps are multiplied by sigmoid(w·x + b), one a head; off in the authors' code.
    """

    relative = True
    reads_positions = False
    sums_between = True
    bidirectional = False
    shared = False

    def __init__(
        self,
        *,
        rank: int = 16,
        base: float = 500000.0,
        temperature: float = 1.0,
        gate: bool = False,
        width: int,
        num_heads: int,
        head_dim: int,
        rngs: nnx.Rngs,
    ):
        if head_dim % 2:
            raise ValueError(f"SelectiveRoPE rotates pairs, so the head width must be even, got {head_dim}.")
        if rank < 1:
            raise ValueError(f"SelectiveRoPE's rank must be at least 1, got {rank}.")
        start: Any = dict(kernel_init=nnx.initializers.normal(0.02), dtype=jnp.float32, rngs=rngs)
        self.factors = tuple((temperature * base ** (-np.arange(0, head_dim, 2) / head_dim)).tolist())
        self.down = nnx.Linear(width, rank, use_bias=False, **start)
        self.up = nnx.Linear(rank, num_heads * head_dim // 2, use_bias=False, **start)
        self.gate = nnx.Linear(width, num_heads, **start) if gate else None
        self.num_heads = num_heads

    def features(self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]) -> tuple[None, Float[Array, "b l h p"]]:
        """The steps of each token's pairs, before their factors."""
        parts = x.astype(jnp.float32).reshape(*x.shape[:2], self.num_heads, -1)
        x = (parts * jax.lax.rsqrt((parts**2).sum(axis=-1, keepdims=True) + _EPSILON)).reshape(x.shape)
        steps = self.up(self.down(x)).reshape(*x.shape[:2], self.num_heads, -1)
        return None, steps if self.gate is None else steps * jax.nn.sigmoid(self.gate(x))[..., None]

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        of_keys = jnp.cumsum(K.features, axis=1) * jnp.asarray(self.factors)[None, None, None]
        of_queries = jnp.take_along_axis(of_keys, Q.slots[..., None, None], axis=1, mode="clip")  # a padded query's slot may be S
        return rotate(q, of_queries, "half"), rotate(k, of_keys, "half")
