"""The contract of a distribution of training lengths.

Shape letter: N lengths, from config.train.min_length to config.train.max_length.
"""

import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key, Shaped

from pe_lab.choices import ChecksChoices

Lengths = Int[np.ndarray, "n"]  # static: every length from min_length to max_length
Weights = Shaped[Array | np.ndarray, "n"]  # numbers, or truth values, which count as 0 and 1
Step = Int[Array, ""] | int  # steps that this run has trained; traced in training


class LengthDistribution(ChecksChoices):
    """A distribution of training lengths. It is a frozen dataclass of its arguments.

    Traits:
      depends_on_step: the weights change during training.
    """

    depends_on_step: ClassVar[bool] = False

    def relative_weights(self, lengths: Lengths, step: Step) -> Weights:
        """Return the relative weight of each length at a step.

        Raises:
          ValueError: the arguments do not fit the lengths.
        """
        raise NotImplementedError

    def draw(
        self,
        key: Key[Array, ""],
        lengths: Lengths,
        step: Step,
    ) -> Int[Array, ""]:
        """Draw one length."""
        weights = self.relative_weights(lengths, step)
        # A weight of 0 becomes -inf, which a categorical draw never chooses.
        logits = jnp.log(jnp.asarray(weights, jnp.float32))
        index = jax.random.categorical(key, logits)
        return jnp.asarray(lengths, jnp.int32)[index]


@functools.cache
def shares(
    distribution: LengthDistribution, shortest: int, longest: int, num_steps: int
) -> Float[np.ndarray, "n"]:
    """Return the relative frequency of each length in a training; NaN if a step has no length.

    A uniform distribution has ones.
    """
    lengths = np.arange(shortest, longest + 1)
    no_shares = np.full(len(lengths), np.nan)
    if not distribution.depends_on_step:
        weights = np.asarray(distribution.relative_weights(lengths, 0), np.float64)
        return weights if weights.any() else no_shares
    total = np.zeros(len(lengths))
    for step in range(num_steps):
        weights = np.asarray(distribution.relative_weights(lengths, step), np.float64)
        sum_of_weights = weights.sum()
        if not sum_of_weights:
            return no_shares
        # Each step counts the same, whatever the scale of its weights.
        total += weights / sum_of_weights
    return total
