"""A length that grows by the same amount at regular steps.

Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy",
https://arxiv.org/abs/2207.02098: the curriculum "regular_increase" of the authors' code
(google-deepmind/neural_networks_chomsky_hierarchy at 2b8eb4b, experiments/curriculum.py).

Differs from the authors' code, where the length has no limit.
"""

from dataclasses import dataclass

import numpy as np

from pe_lab.training.lengths.base import LengthDistribution, Lengths, Step, Weights


@dataclass(frozen=True)
class RegularIncrease(LengthDistribution):
    """The length grows from `initial` by `amount` every `every` steps, up to `train.max_length`.

    Args:
      initial: the first length.
      every: steps between two increases.
      amount: difference of two lengths in a row.
      sample_all: all lengths reached so far are equally likely; otherwise every example has the
        last one.
    """

    initial: int
    every: int
    amount: int = 1
    sample_all: bool = True

    depends_on_step = True

    def __post_init__(self):
        if min(self.initial, self.every, self.amount) < 1:
            raise ValueError(
                f"regular_increase's initial, every and amount must be at least 1, got "
                f"{self.initial}, {self.every} and {self.amount}."
            )

    def relative_weights(self, lengths: Lengths, step: Step) -> Weights:
        num_increases, remainder = np.divmod(lengths - self.initial, self.amount)
        first_steps = num_increases * self.every
        is_value = (num_increases >= 0) & (remainder == 0)
        is_reached = is_value & (step >= first_steps)
        if self.sample_all:
            return is_reached
        is_last = lengths + self.amount > lengths[-1]
        is_present = step < first_steps + self.every
        return is_reached & (is_present | is_last)
