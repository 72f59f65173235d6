"""Similarity of positions against their distance: decay, symmetry and translation invariance.

The functions take inner products K = E E^T, or logits against distance. Wang et al. 2021, "On
Position Embeddings in BERT" (https://openreview.net/forum?id=onxoVA9FxMw), name these three
properties. Their indicators were not available; those here are defined by this project.
"""

import numpy as np
from jaxtyping import Bool, Float

Curve = Float[np.ndarray, "l"]  # similarity by distance
Square = Float[np.ndarray, "l l"]
_TIE = 1e-6  # relative to the largest similarity: smaller differences count as equal


def gram(E: Float[np.ndarray, "l c"]) -> Square:
    """The inner product of every two rows."""
    return E @ E.T


def by_offset(K: Square) -> Curve:
    """The mean of the main diagonal and of each diagonal above it: similarity by distance."""
    return np.asarray([np.diagonal(K, offset).mean() for offset in range(len(K))])


def toeplitz_fraction(K: Square) -> float:
    """1 - |K - Toep(K)|^2 / |K - mean K|^2, with Toep(K) the mean of each diagonal.

    The fraction is 1 if similarity depends on the offset alone.
    """
    rows, columns = np.indices(K.shape)
    means = [np.diagonal(K, offset).mean() for offset in range(1 - len(K), len(K))]
    averaged = np.asarray(means)[columns - rows + len(K) - 1]
    total = ((K - K.mean()) ** 2).sum()
    return float(1 - ((K - averaged) ** 2).sum() / total) if total else 1.0


def symmetry_defect(K: Square) -> float:
    """|K - K^T| / |K|; 0 if keys before and after a query are equally similar."""
    size = np.linalg.norm(K)
    return float(np.linalg.norm(K - K.T) / size) if size else 0.0


def first_increase(curve: Curve) -> int | None:
    """The first distance with a higher similarity than the distance before; None without one."""
    rises = np.flatnonzero(_rises(curve))
    return int(rises[0]) + 1 if len(rises) else None


def half_decay(curve: Curve) -> int | None:
    """The first distance with at most half the similarity at 0; None without one."""
    below = np.flatnonzero(curve <= curve[0] / 2)
    return int(below[0]) if len(below) and curve[0] > 0 else None


def monotone_fraction(curve: Curve) -> float | None:
    """Share of steps in distance at which similarity does not rise."""
    return float((~_rises(curve)).mean()) if len(curve) > 1 else None


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
    shares = [_concordant(*row) for row in zip(K, distance, strict=True)]
    known = [share for share in shares if share is not None]
    return float(np.mean(known)) if known else None


def _rises(curve: Curve) -> Bool[np.ndarray, "n"]:
    return np.diff(curve) > _TIE * np.abs(curve).max()


def _concordant(
    similarity: Float[np.ndarray, "s"], distance: Float[np.ndarray, "s"]
) -> float | None:
    nearer = distance[:, None] < distance[None]
    difference = (similarity[:, None] - similarity[None])[nearer]
    differ = np.abs(difference) > _TIE * np.abs(similarity).max()
    return float((difference[differ] > 0).mean()) if differ.any() else None
