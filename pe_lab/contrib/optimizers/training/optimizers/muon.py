"""Muon: the momentum of each matrix of the backbone, orthogonalized by a Newton-Schulz iteration.

Jordan et al. 2024, "Muon: An optimizer for hidden layers in neural networks",
https://kellerjordan.github.io/posts/muon; the scale is that of Liu et al. 2025, "Muon is Scalable
for LLM Training", https://arxiv.org/abs/2502.16982. `optax.contrib.muon` computes it.

Differs from the authors' code (KellerJordan/Muon): the iteration is in float32 instead of bfloat16.
The momentum is corrected for its start at 0. The orthogonal matrix does not depend on a factor of
its argument, so only the weight of the newest gradient differs, in the first steps.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import jax
import optax
from jaxtyping import PyTree

from pe_lab.model.sites import is_encoding
from pe_lab.runs.settings.settings import Train
from pe_lab.training.optimizers.base import Optimizer


@dataclass(frozen=True)
class Muon(Optimizer):
    """Muon for the matrices of linear maps but the output's, AdamW for all other parameters.

    Args:
      momentum: decay of the mean of gradients.
      nesterov: the newest gradient counts once more.
      iterations: of Newton and Schulz.
      consistent_rms: root mean square of an update at rate 1; 0.2 is about that of AdamW, so that
        one learning rate serves both. None: the orthogonal matrix times sqrt(max(1, outputs /
        inputs)), as in Jordan et al.
      adamw_rate_factor: learning rate of the parameters of AdamW, relative to those of Muon.
    """

    momentum: float = 0.95
    nesterov: bool = True
    iterations: int = 5
    consistent_rms: float | None = 0.2
    adamw_rate_factor: float = 1.0

    def __post_init__(self):
        if not 0 <= self.momentum < 1:
            raise ValueError(f"muon's momentum must be in [0, 1), got {self.momentum}.")
        if self.iterations < 1:
            raise ValueError(f"muon's iterations must be at least 1, got {self.iterations}.")
        if self.consistent_rms is not None and not self.consistent_rms > 0:
            raise ValueError(
                f"muon's consistent_rms must be None or above 0, got {self.consistent_rms}."
            )
        if not self.adamw_rate_factor >= 0:
            raise ValueError(
                f"muon's adamw_rate_factor must be at least 0, got {self.adamw_rate_factor}."
            )

    def direction(self, train: Train) -> optax.GradientTransformation:
        orthogonal = optax.contrib.muon(
            learning_rate=-1.0,  # optax multiplies by minus the rate, as our chain does later
            ns_steps=self.iterations,
            beta=self.momentum,
            nesterov=self.nesterov,
            consistent_rms=self.consistent_rms,
        )
        # Not the AdamW inside of optax's muon: with Nesterov momentum that one is NAdam.
        adamw = optax.scale_by_adam(train.beta1, train.beta2, train.epsilon)
        return optax.partition({"muon": orthogonal, "adamw": adamw}, _methods)

    def rate_factors(self) -> list[optax.GradientTransformation]:
        if self.adamw_rate_factor == 1:
            return []
        return [optax.masked(optax.scale(self.adamw_rate_factor), _has_adamw)]


def _methods(params: PyTree) -> PyTree:
    """The optimizer of each parameter, by name."""

    def method(path: tuple[Hashable, ...], leaf: jax.Array) -> str:
        names = [str(getattr(part, "key", part)) for part in path]
        is_linear = names[-1] == "kernel" and leaf.ndim == 2
        is_hidden = names[0] != "output" and not is_encoding(path)
        return "muon" if is_linear and is_hidden else "adamw"

    return jax.tree_util.tree_map_with_path(method, params)


def _has_adamw(params: PyTree) -> PyTree:
    """True at the parameters of AdamW."""
    return jax.tree.map(lambda method: method == "adamw", _methods(params))
