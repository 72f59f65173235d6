"""The contract of an optimizer."""

import optax

from pe_lab.choices import ChecksChoices
from pe_lab.runs.settings.settings import Train


class Optimizer(ChecksChoices):
    """How gradients become updates. It is a frozen dataclass of its arguments.

    pe_lab/training/optimizer.py adds what is common to all optimizers: clipping, weight decay, rate
    factors, the schedule and the learning rate.
    """

    def direction(self, train: Train) -> optax.GradientTransformation:
        """Return the update of a step at rate 1, to be subtracted."""
        raise NotImplementedError

    def rate_factors(self) -> list[optax.GradientTransformation]:
        """Return links that scale the updates of some parameters, with their weight decay."""
        return []
