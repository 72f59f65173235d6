"""Rotary position embedding: queries and keys rotate by an angle proportional to their position.

Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2,
https://arxiv.org/abs/2104.09864.

The paper pairs neighboring channels ("interleaved", also GPT-J). GPT-NeoX and models derived from
it pair channel m with m + r/2 ("half"). The two are one function up to a permutation of weights.
Partial rotation (GPT-J, GPT-NeoX) rotates only the first r channels, with frequencies that span r.
p-RoPE (Barbero et al. 2024, "Round and Round We Go! What makes Rotary Positional Encodings
useful?", https://arxiv.org/abs/2410.06205) spreads the frequencies over all r channels and then
drops the lowest.

Context extension divides frequencies by up to s, so that s times the trained positions rotate by
angles that training has seen:
  linear  all pairs. Chen et al. 2023, "Extending Context Window of Large Language Models via
          Positional Interpolation", https://arxiv.org/abs/2306.15595.
  ntk     the slowest pair fully, the fastest not at all: bloc97's NTK-aware base, as in section 3.1
          of YaRN's paper.
  yarn    Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models",
          sections 3.2 and 3.4, https://arxiv.org/abs/2309.00071.
  llama3  Llama 3.1, apply_scaling in meta-llama/llama-models at 43e87a3, models/llama3/model.py.
  dynamic_ntk  ntk with a factor of 1 up to the trained length, which then grows with the length of
          the example; _compute_dynamic_ntk_parameters of Hugging Face's modeling_rope_utils.py.
  longrope  each pair by its own factor, found by search, with one set of factors up to the trained
          length and one beyond. Ding et al. 2024, "LongRoPE: Extending LLM Context Window Beyond 2
          Million Tokens", https://arxiv.org/abs/2402.13753; _compute_longrope_parameters of the
          same file, also for the amplitude.

YaRN follows its authors' code and Hugging Face's: between two whole pairs the divisor changes
linearly with the pair. In the paper it is linear in the turns that a pair makes in the trained
length, as in llama3.
"""

import math
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.base import AttentionEncoding, Tokens
from pe_lab.encodings.ops import angles, rotate
from pe_lab.encodings.requirements import Requirements


def linear(theta: np.ndarray, factor: float) -> np.ndarray:
    """All frequencies divided by s."""
    return theta / factor


def ntk(theta: np.ndarray, factor: float) -> np.ndarray:
    """The frequencies of base * s^(r / (r - 2)): pair m is divided by s^(2m / (r - 2))."""
    return theta / factor ** _share(theta, "ntk")


def dynamic_ntk(
    theta: np.ndarray, factor: float, trained_length: int, lengths: Num[Array, "b"]
) -> Float[Array, "b p"]:
    """Frequencies of ntk for the factor s * L / L0 - (s - 1), at least 1, for each length L."""
    grown = 1 + factor * (jnp.maximum(lengths / trained_length, 1.0) - 1)
    share = jnp.asarray(_share(theta, "dynamic_ntk"), jnp.float32)
    return jnp.asarray(theta, jnp.float32)[None] / grown[:, None] ** share[None]


def yarn(
    theta: np.ndarray,
    factor: float,
    base: float,
    trained_length: int | None,
    beta_fast: float,
    beta_slow: float,
) -> np.ndarray:
    """Frequencies divided by s after the pair that turns beta_slow times in the trained length.

    They are unchanged up to the pair that turns beta_fast times.
    """
    if not (base > 1 and beta_fast > beta_slow > 0):
        got = f"{base:g}, {beta_fast:g} and {beta_slow:g}"
        raise ValueError(
            f"RoPE's scaling 'yarn' needs a base above 1 and beta_fast > beta_slow > 0, got {got}."
        )
    length, rotated = _checked(trained_length, "yarn"), 2 * len(theta)

    def pair(turns: float) -> float:
        return rotated * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base))

    low = max(math.floor(pair(beta_fast)), 0)
    high = min(math.ceil(pair(beta_slow)), rotated - 1)
    width = max(
        high - low, 1e-3
    )  # a step at low if the two ends meet, or cross outside of the pairs
    return _blend(theta, factor, 1 - np.clip((np.arange(len(theta)) - low) / width, 0, 1))


def llama3(
    theta: np.ndarray,
    factor: float,
    trained_length: int | None,
    low_frequency_factor: float,
    high_frequency_factor: float,
) -> np.ndarray:
    """Frequencies divided by s up to `low` turns in the trained length.

    They are unchanged from `high` turns on, and linear in the turns between the two.
    """
    low, high = low_frequency_factor, high_frequency_factor
    if not 0 <= low < high:
        raise ValueError(
            "RoPE's low_frequency_factor must be below its high_frequency_factor and not negative, "
            f"got {low:g} and {high:g}."
        )
    turns = _checked(trained_length, "llama3") * theta / (2 * math.pi)
    return _blend(theta, factor, np.clip((turns - low) / (high - low), 0, 1))


def longrope(theta: np.ndarray, factors: tuple[float, ...], name: str) -> np.ndarray:
    """Each frequency divided by its own factor."""
    if len(factors) != len(theta) or not all(f > 0 for f in factors):
        raise ValueError(
            f"RoPE's {name} are one positive factor for each of the {len(theta)} pairs, "
            f"got {factors}."
        )
    return theta / np.asarray(factors)


def growth(scaling: str, factor: float, trained_length: int | None) -> float:
    """The factor of the rotated channels of queries and keys."""
    if scaling == "yarn":
        return 0.1 * math.log(factor) + 1
    if scaling == "longrope" and factor > 1:
        length = _checked(trained_length, scaling, least=2)
        return math.sqrt(1 + math.log(factor) / math.log(length))
    return 1.0


def _share(theta: np.ndarray, scaling: str) -> np.ndarray:
    """Exponent of the divisor of each pair: 0 for the first, 1 for the last."""
    if len(theta) == 1:
        raise ValueError(
            f"RoPE's scaling {scaling!r} leaves the first pair alone, so it needs another: "
            "the rotated part has 2 channels."
        )
    return np.linspace(0, 1, len(theta))


def _blend(theta: np.ndarray, factor: float, kept: np.ndarray) -> np.ndarray:
    return theta * kept + theta / factor * (1 - kept)


def _checked(trained_length: int | None, scaling: str, least: int = 1) -> int:
    if trained_length is None or trained_length < least:
        raise ValueError(
            f"RoPE's scaling {scaling!r} needs trained_length, the positions seen in training, "
            f"got {trained_length}."
        )
    return trained_length


def _rotated(head_dim: int, fraction: float) -> int:
    """r, the number of rotated channels."""
    if head_dim % 2:
        raise ValueError(f"RoPE rotates pairs, so the head width must be even, got {head_dim}.")
    rotated = round(fraction * head_dim)
    if rotated % 2 or not 2 <= rotated <= head_dim:
        got = f"{fraction} of the head width {head_dim} is {fraction * head_dim:g}"
        raise ValueError(
            "RoPE rotates pairs, so the rotated part must be an even number of channels, "
            f"but {got}."
        )
    return rotated


def _lengths(K: Tokens) -> Num[Array, "b"]:
    """Lengths of the keys' examples so far; if unknown, as if positions started from 0."""
    if K.lengths is None:
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
      scaling: method of context extension, see above.
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
    """

    requirements = Requirements(relative=True, cross=True)

    def __init__(
        self,
        *,
        base: float = 10000.0,
        layout: Literal["interleaved", "half"] = "interleaved",
        fraction: float = 1.0,
        scaling: Literal[
            "none", "linear", "ntk", "yarn", "llama3", "dynamic_ntk", "longrope"
        ] = "none",
        factor: float = 1.0,
        trained_length: int | None = None,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        low_frequency_factor: float = 1.0,
        high_frequency_factor: float = 4.0,
        long_factors: tuple[float, ...] = (),
        short_factors: tuple[float, ...] = (),
        proportion: float = 1.0,
        head_dim: int,
    ):
        rotated = _rotated(head_dim, fraction)
        turning = math.floor(proportion * rotated / 2)
        if not 1 <= turning <= rotated // 2:
            raise ValueError(
                f"RoPE's proportion must leave between one pair and all {rotated // 2} of them "
                f"turning, got {proportion:g}."
            )
        if not factor >= 1:
            raise ValueError(
                "RoPE's factor says how many times longer the context becomes, "
                f"so it is at least 1, got {factor:g}."
            )
        if scaling == "none" and factor != 1:
            raise ValueError(
                f"RoPE's factor {factor:g} needs a scaling: 'linear', 'ntk', 'yarn', 'llama3', "
                "'dynamic_ntk' or 'longrope'."
            )
        if scaling != "longrope" and (long_factors or short_factors):
            raise ValueError(
                "RoPE's long_factors and short_factors are of the scaling 'longrope', "
                f"got {scaling!r}."
            )
        theta = far = base ** (-np.arange(0, rotated, 2) / rotated)
        if scaling == "linear":
            theta = linear(theta, factor)
        elif scaling == "ntk":
            theta = ntk(theta, factor)
        elif scaling == "yarn":
            theta = yarn(theta, factor, base, trained_length, beta_fast, beta_slow)
        elif scaling == "llama3":
            theta = llama3(
                theta, factor, trained_length, low_frequency_factor, high_frequency_factor
            )
        elif scaling == "longrope":
            far = longrope(theta, long_factors, "long_factors")
            theta = longrope(theta, short_factors, "short_factors")
        elif scaling == "dynamic_ntk":
            _share(theta, scaling)  # raises its error
        reads_length = scaling in ("dynamic_ntk", "longrope")
        self.trained_length = _checked(trained_length, scaling) if reads_length else None
        self.require(reads_length=reads_length)
        self.scaling = scaling
        self.factor = factor
        self.amplitude = growth(scaling, factor, trained_length)
        rotates = np.arange(rotated // 2) < turning
        self.frequencies = tuple((theta * rotates).tolist())
        self.far_frequencies = tuple((far * rotates).tolist())
        self.layout = layout
        self.rotated = rotated

    def transform_qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        lengths = _lengths(K) if self.requirements.reads_length else None
        return self.rotate(q, Q, lengths), self.rotate(k, K, lengths)

    def rotate(
        self,
        x: Float[Array, "b l h e"],
        tokens: Tokens,
        lengths: Num[Array, "#b"] | None = None,
    ) -> Float[Array, "b l h e"]:
        """The first r channels of each head, rotated and multiplied by the amplitude."""
        angle = self.angles(tokens.positions, lengths)[:, :, None]
        return rotate(x, angle, self.layout, self.amplitude)

    def angles(
        self, positions: Num[Array, "b l"], lengths: Num[Array, "c"] | None = None
    ) -> Float[Array, "_ l p"]:
        """Angles [B|1, L, P] of positions; only dynamic_ntk and longrope read the lengths."""
        if self.trained_length is None or lengths is None:
            return angles(positions, self.frequencies)
        if self.scaling == "dynamic_ntk":
            theta = np.asarray(self.frequencies)
            frequencies = dynamic_ntk(theta, self.factor, self.trained_length, lengths)
            return positions.astype(jnp.float32)[..., None] * frequencies[:, None]
        near = angles(positions, self.frequencies)
        far = angles(positions, self.far_frequencies)
        is_beyond = (lengths > self.trained_length)[:, None, None]
        return jnp.where(is_beyond, far, near)
