"""Self-Extend: RoPE that counts exactly nearby, and in groups of positions further away.

Jin et al. 2024, "LLM Maybe LongLM: Self-Extend LLM Context Window Without Tuning", https://arxiv.org/abs/2401.01325;
as in datamllab/LongLM at 3256680, llama_self_extend_patch.py.

It has no parameters and is meant for a model that was trained with RoPE, which it replaces at evaluation.
Differs from the authors' code in where the two kinds of logits are merged: there the whole logits of far keys are
replaced, here what they differ by is added, so that biases of other encodings on the layer stay.
"""

import math
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, angles, relative, rotate


class SelfExtend(AttentionEncoding):
    """RoPE; for distances from w = window on, queries turn by p // G + w - w // G and keys by p' // G, with G = group.

    A distance d >= w then turns by d // G + w - w // G, or by one more where p % G < p' % G. Not relative: where
    groups begin is absolute, and only a shift by a multiple of G changes nothing. Causal only. It adds two
    products to RoPE's one, of which a compiler may find one made already.

    Args:
      window: w, distances below it are exact; 1024 in the authors' code.
      group: G, positions that count as one beyond; 8 in the authors' code.
      base, layout, fraction: as in RoPE; those of the model that was trained.
    """

    bidirectional = False

    def __init__(
        self,
        *,
        window: int = 1024,
        group: int = 8,
        base: float = 10000.0,
        layout: Literal["interleaved", "half"] = "interleaved",
        fraction: float = 1.0,
        head_dim: int,
    ):
        if window < 1 or group < 1:
            raise ValueError(f"SelfExtend needs a window and a group of at least 1, got {window} and {group}.")
        rotated = round(fraction * head_dim)
        if rotated % 2 or not 2 <= rotated <= head_dim:
            raise ValueError(f"SelfExtend rotates pairs, so {fraction} of the head width {head_dim} must be an even number of channels.")
        self.frequencies = tuple((base ** (-np.arange(0, rotated, 2) / rotated)).tolist())
        self.window, self.group, self.layout = window, group, layout

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return self._turned(q, Q.positions), self._turned(k, K.positions)

    def scores(
        self,
        s: Float[Array, "b h l s"],
        q: Float[Array, "b l h e"],
        k: Float[Array, "b s h e"],
        Q: Tokens,
        K: Tokens,
        mask: Bool[Array, "_ _ l s"],
    ) -> Float[Array, "b h l s"]:
        grouped = self._logits(q, k, Q.positions // self.group + self.window - self.window // self.group, K.positions // self.group)
        exact = self._logits(q, k, Q.positions, K.positions)
        return s + jnp.where(-relative(Q, K)[:, None] >= self.window, grouped - exact, 0.0)

    def _logits(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], of_q: Num[Array, "_ l"], of_k: Num[Array, "_ s"]
    ) -> Float[Array, "b h l s"]:
        product = jnp.einsum("blhe,bshe->bhls", self._turned(q, of_q), self._turned(k, of_k), preferred_element_type=jnp.float32)
        return product / math.sqrt(q.shape[-1])

    def _turned(self, x: Float[Array, "b l h e"], positions: Num[Array, "_ l"]) -> Float[Array, "b l h e"]:
        return rotate(x, angles(positions, self.frequencies)[:, :, None], self.layout)
