"""Programs of training steps, and members that they train."""

import functools

import jax
import jax.numpy as jnp

from pe_lab.training import step
from pe_lab.training.build import build_setup
from tests import tiny

RUN = tiny.run("rope", "learned", execution__chunk_steps=8, execution__members="map")


@functools.cache
def drawing(run):
    return jax.jit(functools.partial(step.draw, build_setup(run)))


def batch_of(run, seed, now):
    return drawing(run)(jax.random.key(seed), jnp.asarray(now))
