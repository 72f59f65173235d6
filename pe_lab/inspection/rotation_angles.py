"""What turning queries and keys by p * frequency says of a distance, in closed form."""

import math

import numpy as np
from jaxtyping import Bool, Float, Num


def mean_cosine(
    frequencies: Float[np.ndarray, "p"], distances: Num[np.ndarray, "n"]
) -> Float[np.ndarray, "n"]:
    """The expected product of a random unit query with itself, turned by the distance: mean over
    pairs of cos(distance * w).
    """
    return np.cos(np.multiply.outer(np.asarray(distances, np.float64), frequencies)).mean(axis=-1)


def decay_bound(
    frequencies: Float[np.ndarray, "p"], distances: Num[np.ndarray, "n"]
) -> Float[np.ndarray, "n"]:
    """mean over j of |S_j|, S_j = sum over the first j pairs of e^(i distance w): up to a factor it
    bounds any q·R(distance) k.

    By Abel's transformation; Su et al. 2021, section 3.4.3, https://arxiv.org/abs/2104.09864.
    """
    turned = np.exp(1j * np.multiply.outer(np.asarray(distances, np.float64), frequencies))
    return np.abs(np.cumsum(turned, axis=-1)).mean(axis=-1)


def completed(frequencies: Float[np.ndarray, "p"], length: int) -> Bool[np.ndarray, "p"]:
    """Whether a pair's period, 2 pi / |w|, fits into the length: else longer examples turn it to
    angles that training did not show.

    A pair that does not turn at all shows all that it ever will, and counts as complete.
    """
    w = np.abs(np.asarray(frequencies, np.float64))
    return (w * length >= 2 * math.pi) | (w == 0)
