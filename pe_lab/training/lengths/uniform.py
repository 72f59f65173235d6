"""All lengths are equally likely, the default.

Deletang et al. 2023, "Neural Networks and the Chomsky Hierarchy",
https://arxiv.org/abs/2207.02098: the curriculum "uniform" of the authors' code
(google-deepmind/neural_networks_chomsky_hierarchy at 2b8eb4b, experiments/curriculum.py).
"""

from dataclasses import dataclass

import jax
import numpy as np
from jaxtyping import Array, Int, Key

from pe_lab.training.lengths.base import LengthDistribution, Lengths, Step, Weights


@dataclass(frozen=True)
class Uniform(LengthDistribution):
    """Every length from `train.min_length` to `train.max_length` is equally likely."""

    def relative_weights(self, lengths: Lengths, step: Step) -> Weights:
        return np.ones(len(lengths))

    def draw(
        self,
        key: Key[Array, ""],
        lengths: Lengths,
        step: Step,
    ) -> Int[Array, ""]:
        shortest = int(lengths[0])
        longest = int(lengths[-1])
        # Runs from before there was a choice drew these random numbers.
        return jax.random.randint(key, (), shortest, longest + 1)
