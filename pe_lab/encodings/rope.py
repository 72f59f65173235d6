"""Rotary position embedding: queries and keys turn by an angle proportional to their position.

Su et al. 2021, "RoFormer: Enhanced Transformer with Rotary Position Embedding", section 3.2,
https://arxiv.org/abs/2104.09864.

The paper pairs neighbouring channels ("interleaved", also GPT-J); GPT-NeoX and its heirs pair channel
m with m + r/2 ("half"). The two are one function up to a permutation of weights. Partial rotation
(GPT-J, GPT-NeoX) turns the first r channels only, the frequencies spanning r, and leaves the rest.

Context extension slows pairs down by up to s, so that s times the trained positions turn by familiar
angles:
  linear  all pairs. Chen et al. 2023, "Extending Context Window of Large Language Models via Positional
          Interpolation", https://arxiv.org/abs/2306.15595.
  ntk     the slowest pair fully, the fastest not at all: bloc97's NTK-aware base, as in section 3.1 of YaRN's
          paper.
  yarn    Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language Models", sections 3.2
          and 3.4, https://arxiv.org/abs/2309.00071.
  llama3  Llama 3.1, apply_scaling in meta-llama/llama-models at 43e87a3, models/llama3/model.py.

YaRN is here as in its authors' code and Hugging Face's: between two whole pairs the slowing grows
linearly with the pair. In the paper it is linear in the turns that a pair makes in the trained length,
which is what llama3 does.
"""

import math
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from pe_lab.encodings.base import AttentionEncoding, Tokens


def linear(theta: np.ndarray, factor: float) -> np.ndarray:
    """All frequencies divided by s."""
    return theta / factor


def ntk(theta: np.ndarray, factor: float) -> np.ndarray:
    """The frequencies of base * s^(r / (r - 2)): pair m is divided by s^(2m / (r - 2))."""
    if len(theta) == 1:
        raise ValueError("RoPE's scaling 'ntk' leaves the first pair alone, so it needs another: the rotated part has 2 channels.")
    return theta / factor ** np.linspace(0, 1, len(theta))


def yarn(theta: np.ndarray, factor: float, base: float, trained_length: int | None, beta_fast: float, beta_slow: float) -> np.ndarray:
    """Divided by s after the pair that turns beta_slow times in the trained length, kept up to that of beta_fast."""
    if not (base > 1 and beta_fast > beta_slow > 0):
        got = f"{base:g}, {beta_fast:g} and {beta_slow:g}"
        raise ValueError(f"RoPE's scaling 'yarn' needs a base above 1 and beta_fast > beta_slow > 0, got {got}.")
    length, rotated = _checked(trained_length, "yarn"), 2 * len(theta)

    def pair(turns: float) -> float:
        return rotated * math.log(length / (2 * math.pi * turns)) / (2 * math.log(base))

    low, high = max(math.floor(pair(beta_fast)), 0), min(math.ceil(pair(beta_slow)), rotated - 1)
    width = max(high - low, 1e-3)  # a step at low where the two ends meet, or cross outside of the pairs
    return _blend(theta, factor, 1 - np.clip((np.arange(len(theta)) - low) / width, 0, 1))


def llama3(
    theta: np.ndarray, factor: float, trained_length: int | None, low_frequency_factor: float, high_frequency_factor: float
) -> np.ndarray:
    """Divided by s up to `low` turns in the trained length, kept from `high` turns on, linear between."""
    low, high = low_frequency_factor, high_frequency_factor
    if not 0 <= low < high:
        raise ValueError(f"RoPE's low_frequency_factor must be below its high_frequency_factor and not negative, got {low:g} and {high:g}.")
    turns = _checked(trained_length, "llama3") * theta / (2 * math.pi)
    return _blend(theta, factor, np.clip((turns - low) / (high - low), 0, 1))


def _blend(theta: np.ndarray, factor: float, kept: np.ndarray) -> np.ndarray:
    return theta * kept + theta / factor * (1 - kept)


def _checked(trained_length: int | None, scaling: str) -> int:
    if trained_length is None or trained_length < 1:
        raise ValueError(f"RoPE's scaling {scaling!r} needs trained_length, the positions seen in training, got {trained_length}.")
    return trained_length


class RoPE(AttentionEncoding):
    """Pair m of a query or key at position p turns by p * base^(-2m / r); the product then sees p - p' alone.

    Relative. Angles are float32: off by 1e-3 at position 1e5, 2e-2 at 1e6. With yarn the turned channels of
    queries and keys also grow by 0.1 ln(s) + 1 each, which sharpens their part of the logits by the square.

    Args:
      base: of the geometric series of wavelengths, 10000 in the paper.
      layout: which channels form a pair, see above.
      fraction: of the head width that turns, r = fraction * Dh.
      scaling: a way of context extension, see above.
      factor: s, how many times the trained length is wanted.
      trained_length: positions seen in training; yarn and llama3 need it, the others do without.
      beta_fast: turns in the trained length from which yarn keeps a pair, 32 in the paper.
      beta_slow: turns in the trained length up to which yarn divides by s, 1 in the paper.
      low_frequency_factor: turns up to which llama3 divides by s, 1 in Llama 3.1.
      high_frequency_factor: turns from which llama3 keeps a pair, 4 in Llama 3.1.
    """

    relative = True
    cross = True

    def __init__(
        self,
        *,
        base: float = 10000.0,
        layout: Literal["interleaved", "half"] = "interleaved",
        fraction: float = 1.0,
        scaling: Literal["none", "linear", "ntk", "yarn", "llama3"] = "none",
        factor: float = 1.0,
        trained_length: int | None = None,
        beta_fast: float = 32.0,
        beta_slow: float = 1.0,
        low_frequency_factor: float = 1.0,
        high_frequency_factor: float = 4.0,
        head_dim: int,
    ):
        if head_dim % 2:
            raise ValueError(f"RoPE rotates pairs, so the head width must be even, got {head_dim}.")
        rotated = round(fraction * head_dim)
        if rotated % 2 or not 2 <= rotated <= head_dim:
            got = f"{fraction} of the head width {head_dim} is {fraction * head_dim:g}"
            raise ValueError(f"RoPE rotates pairs, so the rotated part must be an even number of channels, but {got}.")
        if not factor >= 1:
            raise ValueError(f"RoPE's factor says how many times longer the context becomes, so it is at least 1, got {factor:g}.")
        if scaling == "none" and factor != 1:
            raise ValueError(f"RoPE's factor {factor:g} needs a scaling: 'linear', 'ntk', 'yarn' or 'llama3'.")
        theta = base ** (-np.arange(0, rotated, 2) / rotated)
        if scaling == "linear":
            theta = linear(theta, factor)
        elif scaling == "ntk":
            theta = ntk(theta, factor)
        elif scaling == "yarn":
            theta = yarn(theta, factor, base, trained_length, beta_fast, beta_slow)
        elif scaling == "llama3":
            theta = llama3(theta, factor, trained_length, low_frequency_factor, high_frequency_factor)
        self.layout, self.rotated = layout, rotated
        self.frequencies = tuple(theta.tolist())
        self.amplitude = 0.1 * math.log(factor) + 1 if scaling == "yarn" else 1.0

    def qk(
        self, q: Float[Array, "b l h e"], k: Float[Array, "b s h e"], Q: Tokens, K: Tokens
    ) -> tuple[Float[Array, "b l h e"], Float[Array, "b s h e"]]:
        return self.rotate(q, Q), self.rotate(k, K)

    def rotate(self, x: Float[Array, "b l h e"], tokens: Tokens) -> Float[Array, "b l h e"]:
        """Turns the first r channels of each head by the angles of the tokens' positions, times the amplitude."""
        angles = tokens.positions.astype(jnp.float32)[..., None] * jnp.asarray(self.frequencies)[None, None]
        cos, sin = (self.amplitude * f(angles)[:, :, None] for f in (jnp.cos, jnp.sin))  # [B|1, L, 1, r/2]
        turned, rest = x[..., : self.rotated].astype(jnp.float32), x[..., self.rotated :]
        if self.layout == "half":
            a, b = jnp.split(turned, 2, axis=-1)
            y = jnp.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)
        else:
            a, b = turned[..., 0::2], turned[..., 1::2]
            y = jnp.stack([a * cos - b * sin, b * cos + a * sin], axis=-1).reshape(turned.shape)
        return jnp.concatenate([y.astype(x.dtype), rest], axis=-1)
