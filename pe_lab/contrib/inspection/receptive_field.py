"""Attention by distance if all keys are equal, so that the bias and the mask alone decide."""

import numpy as np
from jaxtyping import Float

Logits = Float[np.ndarray, "h s"]  # by distance; -inf where masked


def attention(logits: Logits) -> Logits:
    """softmax over the distances 0..S-1, by head."""
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def receptive_field(logits: Logits, share: float = 0.99) -> list[int]:
    """The smallest distance of each head within which this share of attention lies.

    The window holds one token more. Chi et al. 2022, "Dissecting Transformer Length Extrapolation
    via the Lens of Receptive Field Analysis", https://arxiv.org/abs/2212.10356, use 99%.
    """
    within = np.cumsum(attention(logits), axis=-1)
    # Rounding must not move a share that is met exactly to the next distance.
    is_within = within < share - 1e-12
    return is_within.sum(axis=-1).tolist()
