"""Stick-breaking attention: going back from the query, each key takes a share of what is left of the weight.

Tan et al. 2024, "Scaling Stick-Breaking Attention: An Efficient Implementation and In-depth Study",
https://arxiv.org/abs/2410.17980; weights as in shawntan/stickbreaking-attention at ea69b8d, sb_ref.py.

What no key takes is dropped, as in the authors' published 3B model; `remainder` gives it to a learned vector, as
sb_remainder does in IBM/dolomite-engine at 0637ab9, models/stickbreaking/attention.py. A token does not see itself;
`attend_current` is of fla-org/flash-linear-attention at 617966b, ops/stickbreaking_attn/naive.py.
"""

import jax
import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens


class StickBreaking(AttentionEncoding):
    """w_ij = sigmoid(s_ij) * product over the keys l between j and the query of (1 - sigmoid(s_il)), instead of softmax.

    Relative; it reads no positions, only the order of tokens. Defined at any length. A row sums to 1 at most; the
    first token's is empty, and its output zero. Causal only.

    Args:
      remainder: what is left of a row goes to a learned vector a head, zero at the start.
      attend_current: a token may see itself, and is then the first to take its share.
    """

    relative = True
    reads_positions = False
    bidirectional = False
    shared = False

    def __init__(self, *, remainder: bool = False, attend_current: bool = False, num_heads: int, head_dim: int):
        self.attend_current = attend_current
        self.rest = nnx.Param(jnp.zeros((num_heads, head_dim))) if remainder else None

    def acts_in(self, hook: str) -> bool:
        return super().acts_in(hook) and (hook != "mix" or self.rest is not None)

    def mask(self, Q: Tokens, K: Tokens) -> Bool[Array, "b 1 l s"]:
        ahead = K.slots[:, None, None, :] - Q.slots[:, None, :, None]
        return ahead <= 0 if self.attend_current else ahead < 0

    def weights(self, s: Float[Array, "b h l s"], mask: Bool[Array, "_ _ l s"]) -> Float[Array, "b h l s"]:
        s = jnp.where(mask, s.astype(jnp.float32), 0.0)
        left = jnp.where(mask, jax.nn.log_sigmoid(-s), 0.0)  # log of what each key leaves; one that is not seen leaves all
        from_key = jax.lax.cumsum(left, axis=3, reverse=True)
        return jnp.where(mask, jnp.exp(s + from_key), 0.0)  # log sigmoid(s) = s + log sigmoid(-s)

    def mix(self, w: Float[Array, "b h l s"], v: Float[Array, "b s h e"], Q: Tokens, K: Tokens) -> Float[Array, "b l h e"]:
        out = super().mix(w, v, Q, K)
        if self.rest is None:
            return out
        left = 1 - w.sum(axis=-1, dtype=jnp.float32)
        return (out + jnp.moveaxis(left, 1, 2)[..., None] * self.rest[...][None, None]).astype(v.dtype)
