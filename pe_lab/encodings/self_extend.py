"""Self-Extend: RoPE with exact distances nearby and distances in groups of positions further away.

Equation: RoPE; from distance w on i // G + w − w // G and j // G; w with group=None.
Beyond training: distances shrink by G, or end at w.

Jin et al. 2024, "LLM Maybe LongLM: Self-Extend LLM Context Window Without Tuning",
https://arxiv.org/abs/2401.01325. It follows datamllab/LongLM at 3256680,
llama_self_extend_patch.py.

group=None is ReRoPE, Su 2023, "Rectified Rotary Position Embeddings", bojone/rerope at 2cbd019,
rerope_patch.py, without its factor max(1, log(p + 1) / log(trained length)) of the queries. No
`position_temperature` on the same layer replaces this factor: it does not scale the difference of
far keys.

It has no parameters. It replaces RoPE at evaluation, in a model that was trained with RoPE.

Differs from the authors' code in the place where the two kinds of logits are merged. There the
logits of far keys are replaced. Here the difference is added, so that biases of other encodings of
the layer are kept.
"""

import math
from typing import Literal

import jax.numpy as jnp
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens, relative
from pe_lab.encodings.ops import angles, check_positive, geometric_frequencies, rotate
from pe_lab.encodings.requirements import Requirements


class SelfExtend(AttentionEncoding):
    """RoPE up to the distance w = window; beyond it positions count in groups of G = group.

    Beyond it queries rotate by p // G + w - w // G and keys by p' // G. A distance d >= w then
    rotates by d // G + w - w // G, or by one more if p % G < p' % G. Not relative: the groups begin
    at absolute positions, and only a shift by a multiple of G changes nothing. With group=None each
    distance from w on is w, which is relative. Causal only. It needs two more products than RoPE,
    one of which a compiler may reuse.

    Args:
      window: w, distances below it are exact; 1024 in the authors' code.
      group: G, positions that count as one beyond the window; 8 in the authors' code. None: all.
      base: as in RoPE, the value of the trained model.
      layout: as in RoPE, the value of the trained model.
      fraction: as in RoPE, the value of the trained model.
    """

    requirements = Requirements(bidirectional=False)

    def __init__(
        self,
        *,
        window: int = 1024,
        group: int | None = 8,
        base: float = 10000.0,
        layout: Literal["interleaved", "half"] = "interleaved",
        fraction: float = 1.0,
        head_dim: int,
        rngs: nnx.Rngs | None = None,
    ):
        if window < 1 or (group is not None and group < 1):
            raise ValueError(
                f"SelfExtend needs a window and a group of at least 1, got {window} and {group}."
            )
        check_positive("SelfExtend", base=base, fraction=fraction)
        num_rotated = round(fraction * head_dim)
        if num_rotated % 2 or not 2 <= num_rotated <= head_dim:
            raise ValueError(
                f"SelfExtend rotates pairs, so {fraction} of the head width {head_dim} must be an "
                f"even number of channels."
            )
        self.head_dim = head_dim
        self.frequencies = geometric_frequencies(base, num_rotated)
        self.window = window
        self.group = group
        self.layout = layout
        self.require(relative=group is None)

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        q = self._rotate(q, Q.positions)
        k = self._rotate(k, K.positions)
        return q, k

    def content_bias(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> Float[Array, "b h l s"]:
        """The difference between grouped and exact logits of far keys."""
        shift = self.window if self.group is None else self.window - self.window // self.group
        query_groups = self._groups(Q.positions) + shift
        key_groups = self._groups(K.positions)
        grouped_logits = self._logits(q, k, query_groups, key_groups)
        exact_logits = self._logits(q, k, Q.positions, K.positions)  # already in q·k
        distance = -relative(Q, K)[:, None]
        is_far = distance >= self.window
        return jnp.where(is_far, grouped_logits - exact_logits, 0.0)

    def _groups(self, positions: Num[Array, "_ l"]) -> Num[Array, "_ l"]:
        """The group of each position; 0 if all positions are one."""
        # Times 0, which keeps the shape and the type of the positions.
        return positions * 0 if self.group is None else positions // self.group

    def _logits(
        self,
        q: Float[Array, "b l h e"],
        k: Float[Array, "b s h e"],
        query_positions: Num[Array, "_ l"],
        key_positions: Num[Array, "_ s"],
    ) -> Float[Array, "b h l s"]:
        """RoPE's logits of queries and keys at these positions."""
        q = self._rotate(q, query_positions)
        k = self._rotate(k, key_positions)
        product = jnp.einsum("blhe,bshe->bhls", q, k, preferred_element_type=jnp.float32)
        return product / math.sqrt(q.shape[-1])

    def _rotate(
        self, x: Float[Array, "b l h e"], positions: Num[Array, "_ l"]
    ) -> Float[Array, "b l h e"]:
        angle = angles(positions, self.frequencies)[:, :, None]
        return rotate(x, angle, self.layout)
