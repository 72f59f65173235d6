"""Similarity of positions against their distance: decay, symmetry and translation invariance.

The functions take inner products K = E E^T, or logits against distance. Wang et al. 2021, "On
Position Embeddings in BERT" (https://openreview.net/forum?id=onxoVA9FxMw), name these three
properties. Their indicators were not available; those here are defined by this project.
"""

from collections.abc import Iterable

import numpy as np
from jaxtyping import Bool, Float

Curve = Float[np.ndarray, "l"]  # similarity by distance
Square = Float[np.ndarray, "l l"]
_TIE = 1e-6  # relative to the largest similarity: smaller differences count as equal


def mean_of_visible(by_head: Float[np.ndarray, "h s"]) -> Float[np.ndarray, "s"]:
    """The mean over the heads that do not mask a distance; NaN, as a mask is, where all do."""
    counts = np.isfinite(by_head).sum(axis=0)
    return np.where(counts, np.nansum(by_head, axis=0) / np.maximum(counts, 1), np.nan)


def gram(E: Float[np.ndarray, "l c"]) -> Square:
    """The inner product of every two rows."""
    return E @ E.T


def by_offset(K: Square) -> Curve:
    """The mean of the main diagonal and of each diagonal above it: similarity by distance."""
    return _diagonal_means(K, range(len(K)))


def toeplitz_fraction(K: Square) -> float:
    """1 - |K - Toep(K)|^2 / |K - mean K|^2, with Toep(K) the mean of each diagonal.

    The fraction is 1 if similarity depends on the offset alone.
    """
    total = np.square(K - K.mean()).sum()
    if not total:
        return 1.0
    length = len(K)
    means = _diagonal_means(K, range(1 - length, length))
    rows, columns = np.indices(K.shape)
    averaged = means[columns - rows + length - 1]
    residual = np.square(K - averaged).sum()
    return float(1 - residual / total)


def symmetry_defect(K: Square) -> float:
    """|K - K^T| / |K|; 0 if keys before and after a query are equally similar."""
    size = np.linalg.norm(K)
    if not size:
        return 0.0
    defect = np.linalg.norm(K - K.T)
    return float(defect / size)


def first_increase(curve: Curve) -> int | None:
    """The first distance with a higher similarity than the distance before; None without one."""
    rises = np.flatnonzero(_rises(curve))
    if not len(rises):
        return None
    return int(rises[0]) + 1


def half_decay(curve: Curve) -> int | None:
    """The first distance with at most half the similarity at 0; None without one."""
    at_zero = curve[0]
    below = np.flatnonzero(curve <= at_zero / 2)
    if at_zero <= 0 or not len(below):
        return None
    return int(below[0])


def monotone_fraction(curve: Curve) -> float | None:
    """Share of steps in distance at which similarity does not rise."""
    if len(curve) < 2:
        return None
    falls = ~_rises(curve)
    return float(falls.mean())


def nearer_is_more_similar(
    K: Float[np.ndarray, "l s"], distance: Float[np.ndarray, "l s"]
) -> float | None:
    """Share of pairs of keys of which the nearer one is more similar to the query.

    Pairs count if both their distances and their similarities differ. The share is averaged over
    queries and equals (1 + gamma) / 2 with Goodman and Kruskal's gamma of 1954: 1 if similarity
    falls with distance everywhere, 1/2 if distance does not matter.

    Args:
      K: a row for each query.
      distance: of each key from the query, at least 0.

    Returns:
      None if no similarities differ.
    """
    shares = []
    for similarities, distances in zip(K, distance, strict=True):
        share = _concordant(similarities, distances)
        if share is not None:
            shares.append(share)
    return float(np.mean(shares)) if shares else None


def _diagonal_means(K: Square, offsets: Iterable[int]) -> Float[np.ndarray, "n"]:
    return np.asarray([np.diagonal(K, offset).mean() for offset in offsets])


def _rises(curve: Curve) -> Bool[np.ndarray, "n"]:
    tie = _TIE * np.abs(curve).max()
    return np.diff(curve) > tie


def _concordant(
    similarity: Float[np.ndarray, "s"], distance: Float[np.ndarray, "s"]
) -> float | None:
    is_nearer = distance[:, None] < distance[None]
    differences = similarity[:, None] - similarity[None]
    differences = differences[is_nearer]
    tie = _TIE * np.abs(similarity).max()
    differences = differences[np.abs(differences) > tie]
    if not len(differences):
        return None
    is_more_similar = differences > 0
    return float(is_more_similar.mean())
