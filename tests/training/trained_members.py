"""Two members of a run that are trained for some steps, and their evaluation."""

import functools

import jax
import jax.numpy as jnp

from pe_lab.runs.records.evaluation_points import grid
from pe_lab.training.build import build_setup
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.state import initial_state
from pe_lab.training.step import train_chunk
from tests import tiny
from tests.tiny import members


def compiled(f, *args, donate=()):
    return jax.jit(f)


@functools.cache
def trained(*encodings, steps=60, **changes):
    """The setup of a run, and two members trained so far that some answers are right and some are
    not.
    """
    # The logits depend on the offset of all positions.
    encodings = encodings or ("sinusoidal", "rope")
    run = tiny.run(*encodings, execution__chunk_steps=80, train__steps=80, **changes)
    made, which = (
        build_setup(run),
        members({"learning_rate": 1e-2}, {"learning_rate": 1e-2, "seed": 1}),
    )
    state = jax.jit(functools.partial(initial_state, made))(which)
    state, _ = jax.jit(functools.partial(train_chunk, made))(state, which, jnp.asarray(steps))
    return made, state.params


def evaluator(made, *lengths):
    return Evaluator(made, lengths or made.run.evaluate.lengths, compiled)


def rows_of(made, params):
    return evaluator(made).rows(params, grid(made.run))
