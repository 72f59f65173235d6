"""Stick-breaking attention: from the query backward, each key takes a share of the weight left.

Equation: σ(s_ij) Π_{j<l<i} (1 − σ(s_il)), no softmax.
Beyond training: defined.

Tan et al. 2024, "Scaling Stick-Breaking Attention: An Efficient Implementation and In-depth Study",
https://arxiv.org/abs/2410.17980. Weights follow shawntan/stickbreaking-attention at ea69b8d,
sb_ref.py.

The weight that no key takes is dropped, as in the authors' published 3B model. `remainder` gives it
to a learned vector, like sb_remainder in IBM/dolomite-engine at 0637ab9,
models/stickbreaking/attention.py. A token does not see itself. `attend_current` follows
fla-org/flash-linear-attention at 617966b, ops/stickbreaking_attn/naive.py.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens, weighted_sum
from pe_lab.encodings.requirements import Requirements


class StickBreaking(AttentionEncoding):
    """w_ij = sigmoid(s_ij) * product of (1 - sigmoid(s_il)) over keys l between j and the query.

    These weights replace the softmax. Relative; it reads no positions, only the order of tokens.
    Defined at any length. A row sums to at most 1. The row of the first token is empty, and its
    output is zero. Causal only.

    Args:
      remainder: the weight left of a row goes to a learned vector of each head, which is
        initialized to zero.
      attend_current: a token sees itself and is the first to take its share.
    """

    requirements = Requirements(
        relative=True,
        reads_positions=False,
        bidirectional=False,
        per_layer=True,
        replaces=("normalize", "combine"),
    )

    def __init__(
        self,
        *,
        remainder: bool = False,
        attend_current: bool = False,
        num_heads: int,
        head_dim: int,
        rngs: nnx.Rngs | None = None,
    ):
        self.head_dim = head_dim
        self.attend_current = attend_current
        no_remainder = jnp.zeros((num_heads, head_dim), jnp.float32)
        self.rest = nnx.Param(no_remainder) if remainder else None
        if not remainder:
            self.require(replaces=("normalize",))  # values are summed as usual

    def mask(self, Q: Tokens, K: Tokens) -> Bool[Array, "b 1 l s"]:
        assert Q.slots is not None
        assert K.slots is not None
        key_slots = K.slots[:, None, None, :]
        query_slots = Q.slots[:, None, :, None]
        ahead = key_slots - query_slots  # slots, because the order of tokens matters alone
        return ahead <= 0 if self.attend_current else ahead < 0

    def normalize(
        self, s: Float[Array, "b h l s"], mask: Bool[Array, "_ _ l s"]
    ) -> Float[Array, "b h l s"]:
        s = s.astype(jnp.float32)
        # 0 and not -inf, which would give NaN gradients; masked weights are replaced below.
        s = jnp.where(mask, s, 0.0)
        # The log of the share that each key leaves; a masked key leaves all.
        log_left = jax.nn.log_sigmoid(-s)
        log_left = jnp.where(mask, log_left, 0.0)
        # The sum includes the key itself, because log sigmoid(s) = s + log sigmoid(-s).
        log_left_from_key = jax.lax.cumsum(log_left, axis=3, reverse=True)
        weights = jnp.exp(s + log_left_from_key)
        return jnp.where(mask, weights, 0.0)

    def combine(
        self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b l h e"]:
        out = weighted_sum(w, v)
        if self.rest is None:
            return out
        # In float32: in bfloat16 the sum of a long row could be off by more than the remainder.
        left = 1 - w.sum(axis=-1, dtype=jnp.float32)  # [B, H, L]
        left = jnp.moveaxis(left, 1, 2)[..., None]
        remainder = left * self.rest[...][None, None]  # [B, L, H, Dh]
        return (out + remainder).astype(v.dtype)
