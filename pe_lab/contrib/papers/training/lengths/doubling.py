"""Uniform lengths up to a bound that doubles at regular steps."""

from dataclasses import dataclass

import numpy as np

from pe_lab.training.lengths.base import LengthDistribution, Lengths, Step, Weights


@dataclass(frozen=True)
class Doubling(LengthDistribution):
    """The lengths up to a bound are equally likely. The bound doubles up to `train.max_length`.

    Args:
      initial: the first bound.
      every: steps between two doublings.
    """

    initial: int
    every: int

    depends_on_step = True

    def __post_init__(self):
        if min(self.initial, self.every) < 1:
            raise ValueError(
                f"doubling's initial and every must be at least 1, got {self.initial} and "
                f"{self.every}."
            )

    def relative_weights(self, lengths: Lengths, step: Step) -> Weights:
        ratios = np.maximum(lengths / self.initial, 1)
        # Powers of two have exact logarithms, so a length that is a bound is not rounded up.
        num_doublings = np.ceil(np.log2(ratios)).astype(int)
        return step >= num_doublings * self.every
