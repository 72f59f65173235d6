"""M-RoPE: a position has a time, a height and a width, and each rotates its own pairs of channels.

Equation: pair m of q and k rotates by p_a(m) · base^(−2m/r), with the axis a(m) of the pair.
Beyond training: unseen angles.

Wang et al. 2024, "Qwen2-VL: Enhancing Vision-Language Model's Perception of the World at Any
Resolution", https://arxiv.org/abs/2409.12191, section 2.1. Huang et al. 2025, "Revisiting
Multimodal Positional Encoding in Vision-Language Models", https://arxiv.org/abs/2510.23095, for
the interleaved order.

It follows huggingface/transformers 5.24.0, models/qwen2_vl/modeling_qwen2_vl.py ("chunked") and
models/qwen3_vl/modeling_qwen3_vl.py ("interleaved"). A fraction below 1 is that of Qwen3.5. The
second paper's MHRoPE gives each head one axis: three entries of rope with `axis` and `heads`.

Positions are those of the scheme `multimodal`. With equal axes, as in text, it is RoPE.
"""

from typing import Literal

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Int, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import angles, check_axes, check_positive, rotate
from pe_lab.encodings.requirements import Requirements


class MRoPE(AttentionEncoding):
    """Pair m of a query or key rotates by base^(-2m / r) times the position on the pair's axis.

    Relative along each axis. Angles are exact to 1e-6 below position 2^24.

    Args:
      sections: number of pairs of each axis, r / 2 in all; None for Qwen2-VL's shares, a quarter
        for the first axis and the rest for the two others in equal parts.
      order: "chunked": the first pairs are those of the first axis, as in Qwen2-VL. "interleaved":
        the pairs take turns, and those that are left belong to the first axis, as in Qwen3-VL.
      base: base of the geometric series of wavelengths, 1000000 in Qwen2-VL.
      fraction: share of the head width that rotates, r = fraction * Dh.
      layout: which channels form a pair, as in RoPE.
    """

    requirements = Requirements(relative=True, num_axes=3, cross=True)

    def __init__(
        self,
        *,
        sections: tuple[int, ...] | None = None,
        order: Literal["chunked", "interleaved"] = "chunked",
        base: float = 1_000_000.0,
        fraction: float = 1.0,
        layout: Literal["interleaved", "half"] = "half",
        head_dim: int,
        rngs: nnx.Rngs | None = None,
    ):
        check_positive("MRoPE", base=base, fraction=fraction)
        num_rotated = round(fraction * head_dim)
        if num_rotated % 2 or not 6 <= num_rotated <= head_dim:
            raise ValueError(
                f"MRoPE rotates a pair or more for each of its three axes, so {fraction} of the "
                f"head width {head_dim} must be an even number of at least 6 channels."
            )
        num_pairs = num_rotated // 2
        if sections is None:
            sections = _sections(num_pairs)
        if len(sections) != 3 or min(sections) < 0 or sum(sections) != num_pairs:
            raise ValueError(
                f"MRoPE's sections are the pairs of three axes, {num_pairs} in all, got {sections}."
            )
        exponents = -np.arange(0, num_rotated, 2) / num_rotated
        self.head_dim = head_dim
        self.frequencies = tuple((base**exponents).tolist())
        self.axes = tuple(_axes(sections, order).tolist())
        self.layout = layout

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        query_angles = self.angles(Q.positions)[:, :, None]  # all heads rotate by one angle
        key_angles = self.angles(K.positions)[:, :, None]
        q = rotate(q, query_angles, self.layout)
        k = rotate(k, key_angles, self.layout)
        return q, k

    def angles(self, positions: Num[Array, "b l *a"]) -> Float[Array, "b l p"]:
        """The angle of each pair, from the position on its axis."""
        check_axes(positions, 3, "MRoPE")
        # All pairs on each axis, and then a choice: with equal axes the bits are those of RoPE.
        angle = angles(positions[..., 0], self.frequencies)
        for axis in (1, 2):
            is_on_axis = np.asarray(self.axes)[None, None] == axis
            angle = jnp.where(is_on_axis, angles(positions[..., axis], self.frequencies), angle)
        return angle


def _sections(num_pairs: int) -> tuple[int, int, int]:
    """Qwen2-VL's shares: 16, 24 and 24 of 64 pairs."""
    first = max(num_pairs // 4, 1)
    second = (num_pairs - first + 1) // 2
    return first, second, num_pairs - first - second


def _axes(sections: tuple[int, ...], order: str) -> Int[np.ndarray, "p"]:
    """The axis of each pair.

    Raises:
      ValueError: interleaved pairs of an axis do not fit.
    """
    if order == "chunked":
        return np.repeat(np.arange(3), sections)
    axes = np.zeros(sum(sections), int)
    for axis in (1, 2):
        own = np.arange(axis, 3 * sections[axis], 3)  # pairs axis, axis + 3, axis + 6, ...
        if len(own) and own[-1] >= len(axes):
            raise ValueError(
                f"MRoPE's order 'interleaved' has no room for {sections[axis]} pairs on axis "
                f"{axis}: every third of {len(axes)} pairs is one of them."
            )
        axes[own] = axis
    return axes
