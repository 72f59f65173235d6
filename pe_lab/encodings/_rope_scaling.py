"""Context extension of RoPE: other frequencies, for longer contexts than a model was trained on.

Each method divides frequencies by up to s, so that s times the trained positions rotate by
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
length, as in llama3. truncate=False, as in gpt-oss, does not round the two pairs.
"""

import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Num

from pe_lab.encodings.ops import check_finite, check_positive


def check_arguments(scaling: str, factor: float, pair_factors: tuple[float, ...]) -> None:
    """Check the arguments that all methods have.

    Args:
      pair_factors: all divisors of longrope.

    Raises:
      ValueError: an argument has no meaning for this method.
    """
    check_positive("RoPE", factor=factor)
    if factor < 1:
        raise ValueError(
            "RoPE's factor says how many times longer the context becomes, "
            f"so it is at least 1, got {factor:g}."
        )
    if scaling == "none" and factor != 1:
        raise ValueError(
            f"RoPE's factor {factor:g} needs a scaling: 'linear', 'ntk', 'yarn', 'llama3', "
            "'dynamic_ntk' or 'longrope'."
        )
    if scaling != "longrope" and pair_factors:
        raise ValueError(
            f"RoPE's long_factors and short_factors are of the scaling 'longrope', got {scaling!r}."
        )


def linear(theta: np.ndarray, factor: float) -> np.ndarray:
    """All frequencies divided by s."""
    return theta / factor


def ntk(theta: np.ndarray, factor: float) -> np.ndarray:
    """The frequencies of base * s^(r / (r - 2)): pair m is divided by s^(2m / (r - 2))."""
    exponents = pair_exponents(theta, "ntk")  # m / (r/2 - 1) = 2m / (r - 2)
    return theta / factor**exponents


def dynamic_ntk(
    theta: np.ndarray, factor: float, trained_length: int, lengths: Num[Array, "b"]
) -> Float[Array, "b p"]:
    """Frequencies of ntk for the factor s * L / L0 - (s - 1), at least 1, for each length L."""
    ratio = jnp.maximum(lengths / trained_length, 1.0)
    grown_factor = 1 + factor * (ratio - 1)  # [B]
    pairs = pair_exponents(theta, "dynamic_ntk")
    exponents = jnp.asarray(pairs, jnp.float32)
    frequencies = jnp.asarray(theta, jnp.float32)
    divisors = grown_factor[:, None] ** exponents[None]  # [B, P]
    return frequencies[None] / divisors


def yarn(
    theta: np.ndarray,
    factor: float,
    base: float,
    trained_length: int | None,
    beta_fast: float,
    beta_slow: float,
    truncate: bool,
) -> np.ndarray:
    """Frequencies divided by s after the pair that turns beta_slow times in the trained length.

    They are unchanged up to the pair that turns beta_fast times.

    Args:
      truncate: take whole pairs, the next ones outside of the two.
    """
    check_positive("RoPE", beta_fast=beta_fast, beta_slow=beta_slow)
    if not (base > 1 and beta_fast > beta_slow):
        got = f"{base:g}, {beta_fast:g} and {beta_slow:g}"
        raise ValueError(
            f"RoPE's scaling 'yarn' needs a base above 1 and beta_fast > beta_slow > 0, got {got}."
        )
    length = check_trained_length(trained_length, "yarn")
    num_rotated = 2 * len(theta)

    def pair(turns: float) -> float:
        """The pair that makes this many turns in the trained length."""
        # Solve base^(2m / r) = length / (2 pi turns) for the pair m.
        inverse_frequency = length / (2 * math.pi * turns)
        numerator = num_rotated * math.log(inverse_frequency)
        return numerator / (2 * math.log(base))

    low = pair(beta_fast)
    high = pair(beta_slow)
    if truncate:
        low = math.floor(low)
        high = math.ceil(high)
    low = max(low, 0)
    # The limit counts channels and not pairs, as in the authors' code.
    high = min(high, num_rotated - 1)
    # A step at low, if the two ends meet, or cross outside of the pairs.
    width = max(high - low, 1e-3)
    pairs = np.arange(len(theta))
    divided_share = np.clip((pairs - low) / width, 0, 1)
    return _blend(theta, factor, 1 - divided_share)


def llama3(
    theta: np.ndarray,
    factor: float,
    trained_length: int | None,
    low_frequency_factor: float,
    high_frequency_factor: float,
) -> np.ndarray:
    """Frequencies divided by s up to `low` turns in the trained length.

    They are unchanged from `high` turns on, and linear in the turns between the two. Llama 4 has
    low = high: a step.
    """
    low, high = low_frequency_factor, high_frequency_factor
    check_finite("RoPE", low_frequency_factor=low, high_frequency_factor=high)
    if not 0 <= low <= high:
        raise ValueError(
            "RoPE's low_frequency_factor must be at most its high_frequency_factor and not "
            f"negative, got {low:g} and {high:g}."
        )
    length = check_trained_length(trained_length, "llama3")
    turns = length * theta / (2 * math.pi)
    if low == high:  # the ramp below would divide by 0
        unchanged = np.where(turns >= low, 1.0, 0.0)
    else:
        unchanged = np.clip((turns - low) / (high - low), 0, 1)
    return _blend(theta, factor, unchanged)


def longrope(theta: np.ndarray, factors: tuple[float, ...], name: str) -> np.ndarray:
    """Each frequency divided by its own factor."""
    if len(factors) != len(theta):
        raise ValueError(
            f"RoPE's {name} are one factor for each of the {len(theta)} pairs, got {factors}."
        )
    for i, factor in enumerate(factors):
        check_positive("RoPE", **{f"{name}[{i}]": factor})
    return theta / np.asarray(factors)


def growth(
    scaling: str, factor: float, trained_length: int | None, attention_factor: float | None
) -> float:
    """The factor of the rotated channels of queries and keys."""
    if attention_factor is not None:
        if scaling not in ("yarn", "longrope"):
            raise ValueError(
                "RoPE's attention_factor is of the scalings 'yarn' and 'longrope', got "
                f"{scaling!r}."
            )
        check_positive("RoPE", attention_factor=attention_factor)
        return attention_factor
    if scaling == "yarn":
        # Both q and k have it; section 3.4 has its square as 1 / t.
        return 0.1 * math.log(factor) + 1
    if scaling == "longrope" and factor > 1:
        # At least 2 positions, because the logarithm of 1 is 0.
        length = check_trained_length(trained_length, scaling, least=2)
        ratio = math.log(factor) / math.log(length)
        return math.sqrt(1 + ratio)
    return 1.0


def pair_exponents(theta: np.ndarray, scaling: str) -> np.ndarray:
    """Exponent of the divisor of each pair: 0 for the first, 1 for the last."""
    if len(theta) == 1:
        raise ValueError(
            f"RoPE's scaling {scaling!r} leaves the first pair alone, so it needs another: "
            "the rotated part has 2 channels."
        )
    return np.linspace(0, 1, len(theta))


def _blend(theta: np.ndarray, factor: float, unchanged: np.ndarray) -> np.ndarray:
    """Frequencies of which a share is unchanged and the rest is divided by the factor."""
    divided_theta = theta / factor
    return theta * unchanged + divided_theta * (1 - unchanged)


def check_trained_length(trained_length: int | None, scaling: str, least: int = 1) -> int:
    """The trained length, if it is known.

    Raises:
      ValueError: it is None or too short.
    """
    if trained_length is None or trained_length < least:
        raise ValueError(
            f"RoPE's scaling {scaling!r} needs trained_length, the positions seen in training, "
            f"got {trained_length}."
        )
    return trained_length
