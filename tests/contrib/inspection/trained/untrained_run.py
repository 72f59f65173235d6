"""Runs that were never trained, as the diagnostics of trained ones take them."""

import jax
import jax.numpy as jnp

from pe_lab.training.build import build_setup
from pe_lab.training.state import initial_state
from pe_lab.training.trained_runs import TrainedRun
from tests import tiny


def finished(*encodings, params=None, **changes):
    """With its first parameters, or others."""
    run = tiny.run(*encodings, **changes)
    made = build_setup(run)
    if params is None:
        params = jax.tree.map(
            lambda leaf: leaf[0],
            jax.jit(lambda r: initial_state(made, r))(tiny.members({"seed": run.seed})).params,
        )
    exposure = {"max_length": run.train.max_length, "solved_threshold": made.task.threshold}
    return TrainedRun(
        made,
        {"config": run.to_dict(), "status": "finished", "curve": [], "exposure": exposure},
        jax.tree.map(jnp.asarray, params),
        step=run.train.steps,
    )
