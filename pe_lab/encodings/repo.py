"""RePo: RoPE at real positions that each head computes from the token.

Equation: RoPE at p_h = W_f (silu(W_g x) ⊙ W_c x).
Beyond training: defined.

Li, Sproat and Zhao 2025, "RePo: Language Models with Context Re-Positioning",
https://arxiv.org/abs/2512.14391. The network, its width D / 8 and its initialization are the
multi-head SwiGLU form of SakanaAI/repo at 1508a73, OLMo/olmo/model.py; the base is that of its
configurations. There the first layers keep RoPE with the tokens' indices: two entries with `layers`
are this.
"""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import check_positive, rotate
from pe_lab.encodings.requirements import Requirements


class RePo(AttentionEncoding):
    """Pair m of head h rotates by p_h * base^(-2m / Dh), where p_h is computed from the token.

    Pair m is channels m and m + Dh / 2. It reads no positions: the order of tokens is known from
    the causal mask alone, as in NoPE. Angles are float32 products, which have gradients, and not
    the exact angles of RoPE.

    Args:
      base: base of the geometric series of wavelengths, 500000 in the authors' configurations.
      hidden_width: width of the network; None for D / 8.
    """

    requirements = Requirements(relative=True, reads_positions=False, per_layer=True)

    def __init__(
        self,
        *,
        base: float = 500000.0,
        hidden_width: int | None = None,
        width: int,
        num_heads: int,
        head_dim: int,
        rngs: nnx.Rngs,
    ):
        if head_dim % 2:
            raise ValueError(f"RePo rotates pairs, so the head width must be even, got {head_dim}.")
        hidden = max(width // 8, 1) if hidden_width is None else hidden_width
        if hidden < 1:
            raise ValueError(f"RePo's hidden_width must be at least 1, got {hidden}.")
        check_positive("RePo", base=base)
        self.head_dim = head_dim
        linear = functools.partial(
            nnx.Linear,
            use_bias=False,
            kernel_init=nnx.initializers.normal(0.02),
            dtype=jnp.float32,  # in every model: positions are float32
            rngs=rngs,
        )
        exponents = -np.arange(0, head_dim, 2) / head_dim
        self.frequencies = tuple((base**exponents).tolist())
        self.gate = linear(width, hidden)
        self.content = linear(width, hidden)
        self.final = linear(hidden, num_heads)

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[Float[Array, "b l h"], Float[Array, "b l h"]]:
        """The position of each token in each head, for queries and for keys."""
        x = x.astype(jnp.float32)
        hidden = jax.nn.silu(self.gate(x)) * self.content(x)
        computed = self.final(hidden)
        return computed, computed

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        q = rotate(q, self.angles(Q.features), "half")
        k = rotate(k, self.angles(K.features), "half")
        return q, k

    def angles(self, computed: Float[Array, "b l h"]) -> Float[Array, "b l h p"]:
        frequencies = jnp.asarray(self.frequencies, jnp.float32)
        return computed[..., None] * frequencies[None, None, None]
