"""One length for all examples.

Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy",
https://arxiv.org/abs/2207.02098: the curriculum "fixed" of the authors' code
(google-deepmind/neural_networks_chomsky_hierarchy at 2b8eb4b, experiments/curriculum.py).
"""

from dataclasses import dataclass

from pe_lab.training.lengths.base import LengthDistribution, Lengths, Step, Weights


@dataclass(frozen=True)
class Fixed(LengthDistribution):
    """Every example has the length `train.max_length`."""

    def relative_weights(self, lengths: Lengths, step: Step) -> Weights:
        return lengths == lengths[-1]
