"""What a bias of the distance leaves of attention when queries and keys say nothing."""

import numpy as np
from jaxtyping import Float

Kernel = Float[np.ndarray, "h s"]


def attention(kernel: Kernel) -> Kernel:
    """softmax over distances 0..S-1 of each head's bias; -inf is what a head may not see."""
    weights = np.exp(kernel - kernel.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def mass_within(kernel: Kernel, distance: int) -> Float[np.ndarray, "h"]:
    """How much of each head's attention lies at distances 0..distance."""
    return attention(kernel)[:, : distance + 1].sum(axis=-1)


def receptive_field(kernel: Kernel, share: float = 0.99) -> list[int]:
    """The smallest distance of each head within which this share of attention lies, so that the
    window is one longer.

    Chi et al. 2022, "Dissecting Transformer Length Extrapolation via the Lens of Receptive Field
    Analysis", https://arxiv.org/abs/2212.10356, whose window holds 99%.
    """
    return [int(n) for n in (np.cumsum(attention(kernel), axis=-1) < share - 1e-12).sum(axis=-1)]
