"""Hard-ALiBi: some heads see only the last few keys, and the other heads see all keys.

Equation: heads h = 0, 1, … see 0 ≤ i−j ≤ h, other heads all keys.
Beyond training: defined.

Jelassi et al. 2024, "Repeat After Me: Transformers are Better than State Space Models at Copying",
https://arxiv.org/abs/2402.01032. It follows the authors' code (sjelassi/transformers_ssm_copy at
1f32ac6, hard_alibi_model.py), whose loop over heads and rows is one comparison here.
"""

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Bool

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.requirements import Requirements


class HardALiBi(AttentionEncoding):
    """Head h < masked_heads allows keys 0..h positions back; the other heads allow all keys.

    Relative, causal only. Head 0 sees only the query's own token. Masked heads can look up n-grams
    at any length.

    Args:
      masked_heads: number of limited heads; None for half of the heads.
    """

    requirements = Requirements(relative=True, bidirectional=False)

    def __init__(
        self,
        *,
        masked_heads: int | None = None,
        num_heads: int,
        rngs: nnx.Rngs | None = None,
    ):
        num_masked = num_heads // 2 if masked_heads is None else masked_heads
        if not 0 < num_masked <= num_heads:
            raise ValueError(
                f"HardALiBi's masked_heads must be 1..{num_heads}, the heads that there are, got "
                f"{num_masked}."
            )
        self.masked_heads = num_masked
        self.num_heads = num_heads

    def mask(self, Q: Tokens, K: Tokens) -> Bool[Array, "_ _ l s"]:
        distance = -relative(Q, K)[:, None]  # [B|1, 1, L, S]
        head = jnp.arange(self.num_heads)
        head = head.reshape(1, -1, 1, 1)
        sees_all = head >= self.masked_heads
        is_near = (distance >= 0) & (distance <= head)  # head 0 sees its own token alone
        return sees_all | is_near
