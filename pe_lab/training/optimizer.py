"""AdamW with clipping, a schedule, and a parameter group for the encodings."""

import jax
import jax.numpy as jnp
import optax
from jaxtyping import ArrayLike, Float

from pe_lab.model.sites import is_encoding
from pe_lab.runs.settings import Train


def schedule(train: Train) -> optax.Schedule:
    """The learning rate at each step as a fraction of its peak: linear warm-up, then cosine, linear
    or constant.
    """
    rest = max(train.steps - train.warmup_steps, 1)
    after = {
        "cosine": optax.cosine_decay_schedule(1.0, rest, alpha=train.final_rate_fraction),
        "linear": optax.linear_schedule(1.0, train.final_rate_fraction, rest),
        "constant": optax.constant_schedule(1.0),
    }[train.schedule]
    # The first step already has a rate above 0, so no step is lost.
    warmup = optax.linear_schedule(1 / (train.warmup_steps + 1), 1.0, train.warmup_steps)
    if not train.warmup_steps:
        return after
    return optax.join_schedules([warmup, after], [train.warmup_steps])


def optimizer(
    train: Train, learning_rate: Float[ArrayLike, ""], weight_decay: Float[ArrayLike, ""]
) -> optax.GradientTransformation:
    """The transformation of one member; its two scalars may be traced.

    Weight decay is decoupled and reaches the backbone's matrices, not its vectors; the encodings
    have a decay and a rate factor of their own.
    """
    shape = schedule(train)
    return optax.chain(
        optax.clip_by_global_norm(train.clip_norm),
        optax.scale_by_adam(train.beta1, train.beta2, train.epsilon),
        optax.add_decayed_weights(weight_decay, mask=_backbone_matrices),
        optax.add_decayed_weights(train.encoding_weight_decay, mask=_encodings),
        optax.masked(optax.scale(train.encoding_rate_factor), _encodings),
        optax.scale_by_schedule(lambda step: -jnp.asarray(shape(step))),
        optax.scale(learning_rate),
    )


def _encodings(params):
    return jax.tree_util.tree_map_with_path(lambda path, _: is_encoding(path), params)


def _backbone_matrices(params):
    return jax.tree_util.tree_map_with_path(
        lambda path, p: p.ndim > 1 and not is_encoding(path), params
    )
