"""Weights that fall or rise exponentially with the length.

Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy",
https://arxiv.org/abs/2207.02098: the curriculum "reverse_exponential" of the authors' code
(google-deepmind/neural_networks_chomsky_hierarchy at 2b8eb4b, experiments/curriculum.py).
"""

from dataclasses import dataclass

from pe_lab.training.lengths.base import LengthDistribution, Lengths, Step, Weights


@dataclass(frozen=True)
class ReverseExponential(LengthDistribution):
    """Length n has the weight tau^n.

    Args:
      tau: below 1, short lengths are more likely; above 1, long ones.
    """

    tau: float

    def __post_init__(self):
        if self.tau <= 0:
            raise ValueError(f"reverse_exponential's tau must be more than 0, got {self.tau}.")

    def relative_weights(self, lengths: Lengths, step: Step) -> Weights:
        # The largest weight is 1, so that no weight overflows.
        likeliest = lengths[0] if self.tau < 1 else lengths[-1]
        return self.tau ** (lengths - likeliest)
