"""Whether near positions are more alike than far ones: functions of the inner products K = E E^T,
or of logits against distance.

Translation invariance, symmetry and decay are the properties that Wang et al. 2021, "On Position
Embeddings in BERT" (https://openreview.net/forum?id=onxoVA9FxMw), ask of position codes; their own
indicators could not be read, these are the project's.
"""

import numpy as np
from jaxtyping import Bool, Float

Square = Float[np.ndarray, "l l"]
_TIE = 1e-6  # of the largest: less apart than this two similarities are equal


def gram(E: Float[np.ndarray, "l c"]) -> Square:
    """The inner product of every two codes."""
    return E @ E.T


def by_offset(K: Square) -> Float[np.ndarray, "l"]:
    """The mean of each diagonal from the main one on: similarity against distance."""
    return np.asarray([np.diagonal(K, o).mean() for o in range(len(K))])


def toeplitz_fraction(K: Square) -> float:
    """1 - |K - Toep(K)|^2 / |K - mean K|^2, Toep(K) the mean of each diagonal: 1 where the offset
    alone decides.
    """
    rows, columns = np.indices(K.shape)
    averaged = np.asarray([np.diagonal(K, o).mean() for o in range(1 - len(K), len(K))])[
        columns - rows + len(K) - 1
    ]
    whole = ((K - K.mean()) ** 2).sum()
    return float(1 - ((K - averaged) ** 2).sum() / whole) if whole else 1.0


def symmetry_defect(K: Square) -> float:
    """|K - K^T| / |K|: 0 where a key behind is as near as one ahead; 0 of all inner products."""
    size = np.linalg.norm(K)
    return float(np.linalg.norm(K - K.T) / size) if size else 0.0


def first_increase(kernel: Float[np.ndarray, "l"]) -> int | None:
    """The first distance that is more similar than the one before it, where decay stops; None: it
    never stops.
    """
    rises = np.flatnonzero(_rises(kernel))
    return int(rises[0]) + 1 if len(rises) else None


def half_decay(kernel: Float[np.ndarray, "l"]) -> int | None:
    """The first distance whose similarity is at most half of that at 0; None: there is none."""
    below = np.flatnonzero(kernel <= kernel[0] / 2)
    return int(below[0]) if len(below) and kernel[0] > 0 else None


def monotone_fraction(kernel: Float[np.ndarray, "l"]) -> float | None:
    """The share of steps of distance at which similarity does not rise."""
    return float((~_rises(kernel)).mean()) if len(kernel) > 1 else None


def nearer_is_more_similar(
    K: Float[np.ndarray, "l s"], distance: Float[np.ndarray, "l s"]
) -> float | None:
    """Of all pairs of keys at different distances whose similarity to the query differs, the share
    whose nearer is more similar.

    Averaged over queries: 1 where similarity falls with distance all the way, 1/2 where distance
    says nothing of it (it is (1 + gamma) / 2 with Goodman and Kruskal's gamma of 1954). None where
    no similarities differ.

    Args:
      K: a row for each query; distance: of each key from it, at least 0.
    """
    shares = [_concordant(*row) for row in zip(K, distance, strict=True)]
    known = [share for share in shares if share is not None]
    return float(np.mean(known)) if known else None


def _rises(kernel: Float[np.ndarray, "l"]) -> Bool[np.ndarray, "n"]:
    """Whether each distance but the first is more similar than the one before it."""
    return np.diff(kernel) > _TIE * np.abs(kernel).max()


def _concordant(
    similarity: Float[np.ndarray, "s"], distance: Float[np.ndarray, "s"]
) -> float | None:
    nearer: Bool[np.ndarray, "s s"] = distance[:, None] < distance[None]
    more = (similarity[:, None] - similarity[None])[nearer]
    differ = np.abs(more) > _TIE * np.abs(similarity).max()
    return float((more[differ] > 0).mean()) if differ.any() else None
