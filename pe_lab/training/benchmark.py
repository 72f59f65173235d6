"""What training a run costs: parameters, memory as the compiler counts it, and the time of a step."""

import functools
import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.config import Cell, Run
from pe_lab.training import step
from pe_lab.training.finished import replicas_of, shapes_of


def measure(run: Run, num_steps: int) -> dict[str, Any]:
    """Compiles the training of one replica and times `num_steps` steps of it; with 0, only compiles.

    Returns:
      parameters; state_bytes (parameters and optimizer moments); kept_bytes (of the forward pass for the
      backward pass, before any compiler); temporary_bytes (beside the state, as compiled for this device,
      whose compiler may undo a recomputation); step_flops (unpadded); compile_seconds; seconds_per_step (median), None if not timed.
    """
    made, replicas = step.setup(run), jax.tree.map(jnp.asarray, replicas_of(Cell((run,)), [0]))
    started = time.monotonic()
    chunk = functools.partial(step.chunk, made)
    program = jax.jit(chunk, donate_argnums=(0,)).lower(shapes_of(made, 1), replicas, jnp.asarray(1)).compile()
    compiled = time.monotonic() - started
    memory: Any = program.memory_analysis()
    return {
        "parameters": sum(int(np.prod(leaf.shape)) for leaf in jax.tree.leaves(made.abstract_params)),
        "state_bytes": memory.argument_size_in_bytes,
        "kept_bytes": _kept_bytes(made),
        "temporary_bytes": memory.temp_size_in_bytes,
        "step_flops": made.step_flops,
        "compile_seconds": compiled,
        "seconds_per_step": _seconds(made, program, replicas, num_steps) if num_steps else None,
    }


def _kept_bytes(made: step.Setup) -> int:
    def kept(params: Any) -> Any:
        key = jax.random.key(0)
        read = step.contexts(made, *step.draw(made, key, jnp.asarray(0)), train=True)
        return jax.vjp(lambda p: step.loss_of(made, p, read, key if made.run.model.dropout else None), params)[1]

    leaves = jax.tree.leaves(jax.eval_shape(kept, made.abstract_params))
    return int(sum(np.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves))


def _seconds(made: step.Setup, program: Any, replicas: step.Replicas, num_steps: int) -> float:
    state = jax.jit(functools.partial(step.init, made))(replicas)
    seconds = []
    for _ in range(num_steps + 1):  # the first warms up
        started = time.monotonic()
        state, losses = program(state, replicas, jnp.asarray(1))
        jax.block_until_ready(losses)
        seconds.append(time.monotonic() - started)
    return float(np.median(seconds[1:]))
