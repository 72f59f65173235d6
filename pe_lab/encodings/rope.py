"""Rotary position embedding: queries and keys rotate by an angle proportional to their position.

Equation: pair m of q and k rotates by p · base^(−2m/r).
Beyond training: unseen angles; see scaling.

Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2,
https://arxiv.org/abs/2104.09864.

The paper pairs neighboring channels ("interleaved", also GPT-J). GPT-NeoX and models derived from
it pair channel m with m + r/2 ("half"). The two are one function up to a permutation of weights.
Partial rotation (GPT-J, GPT-NeoX) rotates only the first r channels, with frequencies that span r.
p-RoPE (Barbero et al. 2024, "Round and Round We Go! What makes Rotary Positional Encodings
useful?", https://arxiv.org/abs/2410.06205) spreads the frequencies over all r channels and then
drops the lowest.

The methods of context extension (`scaling`) are in _rope_scaling.py, with their sources.
"""

import math
from typing import Literal

import jax.numpy as jnp
import numpy as np
from flax import nnx
from jaxtyping import Array, Float, Num

from pe_lab.encodings import _rope_scaling as scalings
from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import angles, check_positive, rotate
from pe_lab.encodings.requirements import Requirements

Scaling = Literal["none", "linear", "ntk", "yarn", "llama3", "dynamic_ntk", "longrope"]


def _num_rotated(head_dim: int, fraction: float) -> int:
    """r, the number of rotated channels."""
    if head_dim % 2:
        raise ValueError(f"RoPE rotates pairs, so the head width must be even, got {head_dim}.")
    num_rotated = round(fraction * head_dim)
    if num_rotated % 2 or not 2 <= num_rotated <= head_dim:
        got = f"{fraction} of the head width {head_dim} is {fraction * head_dim:g}"
        raise ValueError(
            "RoPE rotates pairs, so the rotated part must be an even number of channels, "
            f"but {got}."
        )
    return num_rotated


def _num_turning(num_rotated: int, proportion: float) -> int:
    """The number of pairs that rotate."""
    num_turning = math.floor(proportion * num_rotated / 2)
    if not 1 <= num_turning <= num_rotated // 2:
        raise ValueError(
            f"RoPE's proportion must leave between one pair and all {num_rotated // 2} of them "
            f"turning, got {proportion:g}."
        )
    return num_turning


def _lengths(K: Tokens) -> Num[Array, "b"]:
    """Lengths of the keys' examples so far."""
    if K.lengths is None:
        # Unknown: as if positions started from 0.
        return K.positions.max(axis=1) + 1
    return K.lengths


class RoPE(AttentionEncoding):
    """Pair m of a query or key at position p rotates by p * base^(-2m / r).

    The product of a query and a key then depends on p - p' alone. Relative. Angles are exact to
    1e-6 below position 2^24. With dynamic_ntk, whose frequencies are computed in the program, they
    are float32 products with an error of 1e-3 at position 1e5. yarn and longrope also multiply the
    rotated channels of queries and of keys, by 0.1 ln(s) + 1 and by sqrt(1 + ln(s) /
    ln(trained_length)). Their part of the logits grows by the square.

    dynamic_ntk and longrope read the length of the keys' example, which is the length so far during
    decoding. Up to the trained length decoding then equals the full forward pass. Beyond it a step
    rotates all keys by the length so far, but deeper layers have cached values computed at earlier
    lengths. Only a model of one layer then equals the full forward pass of the tokens so far. If
    lengths are unknown, they are the largest key position + 1, and a shift matters.

    Args:
      base: base of the geometric series of wavelengths, 10000 in the paper.
      layout: which channels form a pair, see above.
      fraction: share of the head width that rotates, r = fraction * Dh.
      scaling: method of context extension; _rope_scaling.py describes all.
      factor: s, the new length divided by the trained length; with dynamic_ntk, the rate at which
        the divisor grows.
      trained_length: positions seen in training; yarn, llama3, dynamic_ntk and longrope need it.
      beta_fast: turns in the trained length from which yarn keeps a pair, 32 in the paper.
      beta_slow: turns in the trained length up to which yarn divides by s, 1 in the paper.
      low_frequency_factor: turns up to which llama3 divides by s, 1 in Llama 3.1.
      high_frequency_factor: turns from which llama3 keeps a pair, 4 in Llama 3.1.
      long_factors: divisors of longrope for each pair, beyond the trained length.
      short_factors: divisors of longrope for each pair, up to the trained length.
      proportion: p of p-RoPE: only the floor(p * r / 2) fastest pairs rotate, with any scaling.
      attention_factor: factor of the rotated channels with yarn and longrope, in place of theirs.
      truncate: the two pairs of yarn's beta_fast and beta_slow are whole ones, as in the paper's
        code.
    """

    later_arguments = ("attention_factor", "truncate")
    requirements = Requirements(relative=True, cross=True)

    def __init__(
        self,
        *,
        base: float = 10000.0,
        layout: Literal["interleaved", "half"] = "interleaved",
        fraction: float = 1.0,
        scaling: Scaling = "none",
        factor: float = 1.0,
        trained_length: int | None = None,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        low_frequency_factor: float = 1.0,
        high_frequency_factor: float = 4.0,
        long_factors: tuple[float, ...] = (),
        short_factors: tuple[float, ...] = (),
        proportion: float = 1.0,
        attention_factor: float | None = None,
        truncate: bool = True,
        head_dim: int,
        rngs: nnx.Rngs | None = None,
    ):
        check_positive("RoPE", base=base, fraction=fraction, proportion=proportion)
        num_rotated = _num_rotated(head_dim, fraction)
        # A frequency of 0 leaves a pair as it is.
        rotates = np.arange(num_rotated // 2) < _num_turning(num_rotated, proportion)
        scalings.check_arguments(scaling, factor, (*long_factors, *short_factors))
        theta = base ** (-np.arange(0, num_rotated, 2) / num_rotated)
        far = theta  # only longrope has other frequencies beyond the trained length
        if scaling == "linear":
            theta = scalings.linear(theta, factor)
        elif scaling == "ntk":
            theta = scalings.ntk(theta, factor)
        elif scaling == "yarn":
            theta = scalings.yarn(
                theta, factor, base, trained_length, beta_fast, beta_slow, truncate
            )
        elif scaling == "llama3":
            theta = scalings.llama3(
                theta, factor, trained_length, low_frequency_factor, high_frequency_factor
            )
        elif scaling == "longrope":
            far = scalings.longrope(theta, long_factors, "long_factors")
            theta = scalings.longrope(theta, short_factors, "short_factors")
        elif scaling == "dynamic_ntk":
            # Its frequencies are computed later, and its error is raised now.
            scalings.pair_exponents(theta, scaling)
        self.trained_length = None
        if scaling in ("dynamic_ntk", "longrope"):
            self.trained_length = scalings.check_trained_length(trained_length, scaling)
        self.require(reads_length=self.trained_length is not None)
        self.head_dim = head_dim
        self.scaling = scaling
        self.factor = factor
        self.amplitude = scalings.growth(scaling, factor, trained_length, attention_factor)
        # Python's floats have 64 bits, which the exact `angles` needs.
        self.frequencies = tuple((theta * rotates).tolist())
        self.far_frequencies = tuple((far * rotates).tolist())
        self.layout = layout
        self.rotated = num_rotated

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        # The lengths of the keys for both, because q and k must rotate by the same frequencies.
        lengths = _lengths(K) if self.requirements.reads_length else None
        q = self.rotate(q, Q, lengths)
        k = self.rotate(k, K, lengths)
        return q, k

    def rotate(
        self, x: Float[Array, "b l h e"], tokens: Tokens, lengths: Num[Array, "#b"] | None = None
    ) -> Float[Array, "b l h e"]:
        """The first r channels of each head, rotated and multiplied by the amplitude."""
        angle = self.angles(tokens.positions, lengths)[:, :, None]
        return rotate(x, angle, self.layout, self.amplitude)

    def angles(
        self, positions: Num[Array, "b l"], lengths: Num[Array, "c"] | None = None
    ) -> Float[Array, "_ l p"]:
        """Angles [B|1, L, P] of positions; only dynamic_ntk and longrope read the lengths.

        Whole turns may be missing, so the angles must not be scaled.
        """
        if self.trained_length is None or lengths is None:
            return angles(positions, self.frequencies)
        if self.scaling == "dynamic_ntk":
            theta = np.asarray(self.frequencies)
            frequencies = scalings.dynamic_ntk(theta, self.factor, self.trained_length, lengths)
            p = positions.astype(jnp.float32)
            # [B, L, P]: each example has frequencies of its own.
            return p[..., None] * frequencies[:, None]
        # Both are computed, because the lengths are traced.
        near = angles(positions, self.frequencies)
        far = angles(positions, self.far_frequencies)
        is_beyond = (lengths > self.trained_length)[:, None, None]
        return jnp.where(is_beyond, far, near)
