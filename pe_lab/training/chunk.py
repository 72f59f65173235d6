"""Several training steps of all members of a run group, in one program."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from pe_lab.training.setup import Setup
from pe_lab.training.state import Member, Members, TrainState
from pe_lab.training.step import step

Carry = tuple[TrainState, Float[Array, "k"]]  # of one member: its state, losses of a chunk


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

    def train_member(member_state: tuple[Member, TrainState]) -> Carry:
        member, state = member_state

        def add_step(index: Int[Array, ""], carry: Carry) -> Carry:
            state, losses = carry
            state, loss = step(setup, member, data, state)
            return state, losses.at[index].set(loss)

        # A shape cannot depend on `num_steps`, which is traced: the longest chunk decides.
        losses = jnp.zeros(setup.run.execution.chunk_steps)
        # A traced bound makes a while loop without gradient; each step differentiates inside.
        return jax.lax.fori_loop(0, num_steps, add_step, (state, losses))

    train_members = setup.devices.over_members(train_member, num_members=len(members.seed))
    return train_members((members, state))
