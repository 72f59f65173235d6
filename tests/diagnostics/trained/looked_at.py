"""Runs that were never trained, as the diagnostics of trained ones take them."""

import jax
import jax.numpy as jnp

from pe_lab.training import step
from pe_lab.training.finished import Finished
from tests import tiny


def finished(*encodings, params=None, **changes):
    """With its first parameters, or others."""
    run = tiny.run(*encodings, **changes)
    made = step.setup(run)
    if params is None:
        params = jax.tree.map(
            lambda leaf: leaf[0],
            jax.jit(lambda r: step.init(made, r))(tiny.replicas({"seed": run.seed}))["params"],
        )
    return Finished(made, {"config": run.to_dict(), "curve": []}, jax.tree.map(jnp.asarray, params))
