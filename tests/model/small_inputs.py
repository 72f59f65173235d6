"""Small inputs of one or two streams, and what a model computes from them."""

import jax

from pe_lab.runs.settings.settings import STACKS
from tests import models
from tests.models import prefix, stream

V = 11


def everywhere(name, architecture="encoder_decoder"):
    return dict(name=name, stacks=STACKS[architecture])


def reads(positions=None):
    return stream(models.random_tokens(2, 6), positions, prefix([6, 5], 6))


def source(positions=None):
    return stream(models.random_tokens(2, 4, size=9, seed=8), positions, prefix([3, 4], 4))


def logits(model, positions=None, **how):
    return models.run(model, reads(positions), source() if len(model.stacks) == 2 else None, **how)


def shape_of(model, *streams):
    return jax.eval_shape(model, models.by_stack(model, *streams))


def keys(seed):
    return jax.random.split(jax.random.key(seed), 2)
