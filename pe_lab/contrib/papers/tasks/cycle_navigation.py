"""Find the end of a walk on a cycle.

    right right right left -> 2
    right left stay left left -> 3

Each step is -1, 0 or 1. The walk starts at 0, and the answer is its end, modulo the cycle.

Papers: Deletang et al. 2023 (https://arxiv.org/abs/2207.02098) and Ruoss et al. 2023
(https://arxiv.org/abs/2305.16843): "cycle_navigation", a cycle of 5, lengths 1..40 in training.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp

from pe_lab.tasks.base import Example, Task, Vocabulary, numerals, one_symbol_example


@dataclass(frozen=True)
class CycleNavigation(Task):
    """The target is one symbol: the end of the walk. Steps are uniform.

    Args:
      cycle: the number of nodes of the cycle.
    """

    cycle: int = 5

    length_name = "steps"

    def __post_init__(self):
        if self.cycle < 2:
            raise ValueError(
                f"CycleNavigation needs a cycle of two nodes or more, got {self.cycle}."
            )

    @property
    def vocabulary(self) -> Vocabulary:
        """Nodes first, so that they are the same symbols in prompts and targets."""
        return Vocabulary.of(*numerals(self.cycle), "left", "stay", "right")

    @property
    def target_vocabulary(self) -> Vocabulary:
        return Vocabulary.of(*numerals(self.cycle))

    def target_bound(self, length: int) -> int:
        return 1

    def sample(self, key, length, bound, data=None) -> Example:
        mask = jnp.arange(bound) < length
        steps = jax.random.randint(key, (bound,), 0, 3)  # left, stay, right
        # Steps 0, 1 and 2 move by -1, 0 and 1.
        moves = jnp.where(mask, steps - 1, 0)
        end = moves.sum() % self.cycle
        return one_symbol_example(self.cycle + steps, mask, end)
