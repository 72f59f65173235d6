"""Several training steps of all members of a run group, in one program."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from pe_lab.training.setup import Setup
from pe_lab.training.state import Members, TrainState
from pe_lab.training.step import Carry, step


def train_chunk(
    setup: Setup,
    state: TrainState,
    members: Members,
    num_steps: Int[Array, ""],
    data: PyTree = None,
) -> tuple[TrainState, Float[Array, "r k"]]:
    """Train every member for some more steps.

    Args:
      num_steps: traced, at most `execution.chunk_steps`.
      data: the training split of the task's data.

    Returns:
      The new state, and the loss of each step, 0 beyond `num_steps`.
    """

    def train_member(member_state: tuple[Members, TrainState]) -> Carry:
        member, state = member_state
        one_step = functools.partial(step, setup, member, data)
        losses = jnp.zeros(setup.run.execution.chunk_steps)
        return jax.lax.fori_loop(0, num_steps, one_step, (state, losses))

    train_members = setup.over_members(train_member, num_members=len(members.seed))
    return train_members((members, state))
