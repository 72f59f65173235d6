"""The optimizer with clipping, weight decay, a schedule, and a rate factor of the encodings."""

from collections.abc import Hashable

import jax
import jax.numpy as jnp
import optax
from jaxtyping import ArrayLike, Float, Int, PyTree

from pe_lab.model.sites import is_encoding
from pe_lab.runs.settings.settings import Train
from pe_lab.training.optimizers.base import Optimizer


def schedule(train: Train, stop_at: Int[ArrayLike, ""]) -> optax.Schedule:
    """The learning rate at each step as a fraction of its peak.

    A linear warm-up, then cosine, linear or constant. The decay takes all steps after the warm-up.
    With a criterion and extra steps it takes the last `extra_steps` before the run stops, so that
    it is complete wherever that is (Hagele et al. 2024, "Scaling Laws and Compute-Optimal Training
    Beyond Fixed Training Durations", https://arxiv.org/abs/2405.18392).

    Args:
      stop_at: the step at which the member stops, as far as it is known. It only gets smaller, and
        then the decay begins at the present step.
    """
    num_decayed = max((train.schedule_steps or train.steps) - train.warmup_steps, 1)
    if train.decays_after_criterion:
        num_decayed = min(train.extra_steps, num_decayed)
    final = train.final_rate_fraction  # of the peak, which is 1
    schedules = {
        "cosine": optax.cosine_decay_schedule(1.0, num_decayed, alpha=final),
        "linear": optax.linear_schedule(1.0, final, num_decayed),
        "constant": optax.constant_schedule(1.0),
    }
    after = schedules[train.schedule]
    # The first step already has a rate above 0, so no step is lost.
    first_rate = 1 / (train.warmup_steps + 1)
    warmup = optax.linear_schedule(first_rate, 1.0, train.warmup_steps)
    if train.decays_after_criterion:
        first = jnp.asarray(stop_at) - num_decayed

        def rate(step: ArrayLike) -> ArrayLike:
            warmup_rate = warmup(step)
            # Before the decay this is 0, so only the warm-up acts.
            num_done = jnp.maximum(step - first, 0)  # steps of the decay
            return warmup_rate * after(num_done)

        return rate
    if not train.warmup_steps:
        return after
    return optax.join_schedules([warmup, after], [train.warmup_steps])


def optimizer(
    method: Optimizer,
    train: Train,
    learning_rate: Float[ArrayLike, ""],
    weight_decay: Float[ArrayLike, ""],
    stop_at: Int[ArrayLike, ""],
) -> optax.GradientTransformation:
    """The transformation of one member; its scalars may be traced.

    Weight decay is decoupled and reaches the backbone's matrices, not its vectors; the encodings
    have a decay and a rate factor of their own.
    """
    shape = schedule(train, stop_at)
    # The last links, and only where needed: checkpoints name the other links by their number.
    factors = method.rate_factors()
    if train.backbone_rate_factor != 1:
        factors.append(optax.masked(optax.scale(train.backbone_rate_factor), _backbone))
    return optax.chain(
        # Before the moments, so that they see clipped gradients.
        optax.clip_by_global_norm(train.clip_norm),
        method.direction(train),
        # After the moments, which must not see it: decoupled decay.
        optax.add_decayed_weights(weight_decay, mask=_backbone_matrices),
        optax.add_decayed_weights(train.encoding_weight_decay, mask=_encodings),
        # After both decays, so that the factor scales the encodings' decay too.
        optax.masked(optax.scale(train.encoding_rate_factor), _encodings),
        # optax adds updates, so the sign changes here.
        optax.scale_by_schedule(lambda step: -jnp.asarray(shape(step))),
        # A traced number: members with different rates share one program.
        optax.scale(learning_rate),
        *factors,
    )


def _encodings(params: PyTree) -> PyTree:
    """True at the parameters of encodings."""
    return jax.tree_util.tree_map_with_path(lambda path, _: is_encoding(path), params)


def _backbone(params: PyTree) -> PyTree:
    """True at all parameters but those of encodings."""
    return jax.tree.map(lambda is_of_encoding: not is_of_encoding, _encodings(params))


def _backbone_matrices(params: PyTree) -> PyTree:
    """True at the matrices of the backbone."""

    def is_matrix(path: tuple[Hashable, ...], leaf: jax.Array) -> bool:
        # There is no member axis here: the optimizer runs inside of the map over members.
        return leaf.ndim > 1 and not is_encoding(path)

    return jax.tree_util.tree_map_with_path(is_matrix, params)
