"""Linear probes of position: a linear map from hidden states to the positions of their tokens.

Haviv et al. 2022, "Transformer Language Models without Positional Encodings Still Learn Positional
Information", https://arxiv.org/abs/2203.16634.
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

# Relative to the mean variance of a channel. It keeps the fit defined if channels are constant.
_RIDGE = 1e-6


@dataclasses.dataclass(frozen=True)
class ProbeScore:
    """Scores on examples that did not fit the probe.

    Attributes:
      r2: 1 - squared error / variance: 1 for exact positions, 0 for always the mean position;
        below 0 is worse.
      error: mean absolute error in tokens.
    """

    r2: float
    error: float


def probe_position(
    hidden: Float[np.ndarray, "n l d"], valid: Bool[np.ndarray, "n l"]
) -> ProbeScore | None:
    """Fit ridge regression on the first half of the examples and score it on the second.

    Returns:
      None if a half has fewer than two positions.
    """
    indices = np.arange(hidden.shape[1], dtype=np.float64)
    positions = np.broadcast_to(indices, valid.shape)
    # Whole examples, so that no example is on both sides.
    half = len(hidden) // 2
    X, y = _rows(hidden[:half], positions[:half], valid[:half])
    X_test, y_test = _rows(hidden[half:], positions[half:], valid[half:])
    if not len(y):
        return None
    if np.ptp(y) == 0 or np.ptp(y_test) == 0:
        return None
    mean = X.mean(axis=0)
    mean_position = y.mean()
    centered = X - mean
    covariance = centered.T @ centered
    width = len(covariance)
    ridge = _RIDGE * np.trace(covariance) / width or 1.0  # 1 if all states are equal
    penalty = ridge * np.eye(width)
    targets = centered.T @ (y - mean_position)
    weights = np.linalg.solve(covariance + penalty, targets)
    predicted = (X_test - mean) @ weights + mean_position
    error = predicted - y_test
    variance = np.square(y_test - y_test.mean()).sum()
    r2 = 1 - np.square(error).sum() / variance
    mean_error = np.abs(error).mean()
    return ProbeScore(r2=float(r2), error=float(mean_error))


def _rows(
    hidden: Float[np.ndarray, "n l d"],
    positions: Float[np.ndarray, "n l"],
    valid: Bool[np.ndarray, "n l"],
) -> tuple[Float[np.ndarray, "m d"], Float[np.ndarray, "m"]]:
    """Hidden states and positions of the valid tokens."""
    rows = hidden[valid].astype(np.float64)
    return rows, positions[valid]
