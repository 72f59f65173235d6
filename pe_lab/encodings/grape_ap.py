"""GRAPE-AP: every token between key and query takes off an amount that the query decides.

Equation: s_h Σ_{l=j+1..i} log σ(p_i · R(l) p̂_l / C), with p = W_p x.
Beyond training: defined, unseen.

Zhang et al. 2025, "Group Representational Position Encoding",
https://arxiv.org/abs/2512.07805: additive GRAPE with path-integral bias. The equation, the width C
of p and ALiBi's slopes s_h follow model-architectures/GRAPE at f5b539f,
model/llama-mha-grape-ap-v1.py and its configurations with pdim8. p̂ is p divided by its root mean
square, and R(l) rotates all pairs of channels by l radians (a RoPE with base 1).

As in the authors' code, p_i is not rotated, so the bias depends on the positions themselves and not
on distances alone; the paper's form has an exact relative law. Their forms that take p from q, k or
v are not included. W_p starts as their weights of std 0.5 / sqrt(D).
"""

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import alibi_slopes, angles, check_axes, rotate
from pe_lab.encodings.requirements import Requirements

_EPSILON = float(np.finfo(np.float32).eps)  # of the mean square, as in PyTorch's rms_norm
_WEIGHT_STD = 0.5  # times 1 / sqrt(D)


class GRAPEAP(AttentionEncoding):
    """Adds slope * the sum of log sigmoid(p_i · R(l) p̂_l / C) over the tokens l from j + 1 to i.

    Not relative. Defined at any distance. A bias of 1000 is exact to about 1e-4 (float32 sums). It
    costs another product of queries and keys with C channels. Causal only.

    Args:
      channels: C, the channels of p in each head, an even number; 8 in the authors'
        configurations.
    """

    requirements = Requirements(
        only_bias=True,
        reads_between=True,
        bidirectional=False,
        per_layer=True,
        coarse=True,  # one position moved by 1 changes a bias by less than its small slope
    )

    def __init__(self, *, channels: int = 8, width: int, num_heads: int, rngs: nnx.Rngs):
        if channels < 2 or channels % 2:
            raise ValueError(
                f"GRAPEAP rotates pairs, so channels must be an even number from 2, got {channels}."
            )
        self.channels = channels
        self.num_heads = num_heads
        self.slopes = alibi_slopes(num_heads)
        self.projection = nnx.Linear(
            width,
            num_heads * channels,
            use_bias=False,
            dtype=jnp.float32,  # in every model: the bias is a sum of many logarithms
            kernel_init=nnx.initializers.normal(_WEIGHT_STD * width**-0.5),
            rngs=rngs,
        )

    def features(
        self, x: Float[Array, "b l d"], positions: Num[Array, "#b l *a"]
    ) -> tuple[Float[Array, "b l h c"], Float[Array, "b l h c"]]:
        """p of each token for queries, and R(l) p̂_l for keys."""
        check_axes(positions, 1, "GRAPEAP")
        batch, length, _ = x.shape
        p = self.projection(x).reshape(batch, length, self.num_heads, self.channels)
        mean_square = (p**2).mean(axis=-1, keepdims=True)
        normalized = p * jax.lax.rsqrt(mean_square + _EPSILON)
        one_radian = (1.0,) * (self.channels // 2)
        # The authors rotate by minus the position.
        angle = -angles(positions, one_radian)[:, :, None]
        return p, rotate(normalized, angle, "half")

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        assert Q.slots is not None
        products = jnp.einsum("blhc,bshc->bhls", Q.features, K.features)
        log_sigmoid = jax.nn.log_sigmoid(products / self.channels)
        # Sums over keys must not contain the tokens after the query.
        slots = jnp.arange(products.shape[-1])[None, None]
        is_past = slots <= Q.slots[..., None]  # [B|1, L, S]
        log_sigmoid = jnp.where(is_past[:, None], log_sigmoid, 0.0)
        # The sum of all past tokens, minus that of the tokens up to the key.
        total = log_sigmoid.sum(axis=-1, keepdims=True)
        after_key = total - jnp.cumsum(log_sigmoid, axis=-1)
        return jnp.asarray(self.slopes, jnp.float32)[None, :, None, None] * after_key
