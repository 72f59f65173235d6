"""Probes of position: how well a linear map reads a token's place off its hidden state (Haviv et
al. 2022, https://arxiv.org/abs/2203.16634).
"""

import dataclasses

import numpy as np
from jaxtyping import Bool, Float

# of the mean variance of a channel: channels that say nothing stay out, and nothing else changes
_RIDGE = 1e-6


@dataclasses.dataclass(frozen=True)
class ProbeScore:
    """On examples that it was not fitted on.

    Attributes:
      r2: 1 - squared error over variance: 1 reads every place, 0 says the mean place always; below
        0 is worse.
      error: mean absolute error, in tokens.
    """

    r2: float
    error: float


def of_place(
    hidden: Float[np.ndarray, "n l d"], valid: Bool[np.ndarray, "n l"]
) -> ProbeScore | None:
    """Fitted by ridge regression on the first half of the examples, scored on the second; None
    where there is one place or example.
    """
    places = np.broadcast_to(np.arange(hidden.shape[1], dtype=np.float64), valid.shape)
    half = len(hidden) // 2
    (X, y), (X_test, y_test) = (
        (hidden[of][valid[of]].astype(np.float64), places[of][valid[of]])
        for of in (slice(half), slice(half, None))
    )
    if not len(y) or min(np.ptp(y), np.ptp(y_test)) == 0:
        return None
    centre, middle = X.mean(axis=0), y.mean()
    gram = (X - centre).T @ (X - centre)
    penalty = (_RIDGE * np.trace(gram) / len(gram) or 1.0) * np.eye(len(gram))
    map_ = np.linalg.solve(gram + penalty, (X - centre).T @ (y - middle))
    wrong = (X_test - centre) @ map_ + middle - y_test
    return ProbeScore(
        float(1 - np.square(wrong).sum() / np.square(y_test - y_test.mean()).sum()),
        float(np.abs(wrong).mean()),
    )
