"""AdamW, the default.

Loshchilov and Hutter 2017, "Decoupled Weight Decay Regularization",
https://arxiv.org/abs/1711.05101.
"""

from dataclasses import dataclass

import optax

from pe_lab.runs.settings.settings import Train
from pe_lab.training.optimizers.base import Optimizer


@dataclass(frozen=True)
class AdamW(Optimizer):
    """The mean of gradients over the root of the mean of their squares, for all parameters."""

    def direction(self, train: Train) -> optax.GradientTransformation:
        return optax.scale_by_adam(train.beta1, train.beta2, train.epsilon)
