"""One weight for each length."""

from dataclasses import dataclass

import numpy as np

from pe_lab.training.lengths.base import LengthDistribution, Lengths, Step, Weights


@dataclass(frozen=True)
class Weighted(LengthDistribution):
    """Each length has its own weight.

    Args:
      weights: relative weights from `train.min_length` to `train.max_length`; a length
        with weight 0 is never drawn.
    """

    weights: tuple[float, ...]

    def __post_init__(self):
        if min(self.weights, default=0.0) < 0:
            raise ValueError(f"weighted's weights must be at least 0, got {self.weights}.")

    def relative_weights(self, lengths: Lengths, step: Step) -> Weights:
        if len(self.weights) != len(lengths):
            raise ValueError(
                f"weighted needs one weight for each length from {lengths[0]} to {lengths[-1]}, "
                f"{len(lengths)} in all, got {len(self.weights)}."
            )
        return np.array(self.weights)
