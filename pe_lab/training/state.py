"""The arrays of a training: the members of a run group and their state.

Outside of compiled programs every array has a member axis in front, [R, ...].
"""

import dataclasses
import functools
from collections.abc import Sequence
from typing import no_type_check

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, PyTree

from pe_lab.runs.run import RunGroup
from pe_lab.training.optimizer import optimizer
from pe_lab.training.setup import Setup


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Member:
    """The settings in which the members of a run group differ.

    Attributes:
      seed: of the initial parameters.
      data_seed: of batches, positions and dropout.
      first_step: the step of the data that the training begins with.
    """

    seed: Int[Array | np.ndarray, "*r"]
    data_seed: Int[Array | np.ndarray, "*r"]
    first_step: Int[Array | np.ndarray, "*r"]
    learning_rate: Float[Array | np.ndarray, "*r"]
    weight_decay: Float[Array | np.ndarray, "*r"]


Members = Member  # with an axis of members in front of every array


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class TrainState:
    """The state of a training.

    Attributes:
      params: nested dictionaries of arrays, as the model names them.
      optimizer: moments and counters.
      step: steps done.
      stop_at: no update from this step on.
      diverged_at: the step whose loss or gradient was not finite; -1 while there is none.
    """

    params: PyTree
    optimizer: optax.OptState
    step: Int[Array, "*r"]
    stop_at: Int[Array, "*r"]
    diverged_at: Int[Array, "*r"]


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CurveState:
    """The part of a state that is saved at a point of the curve.

    Attributes:
      step: the steps that each member has trained.
    """

    params: PyTree
    step: Int[Array, "*r"]

    @classmethod
    def of(cls, state: TrainState) -> "CurveState":
        # A member that stopped keeps its parameters while the clock of its group goes on.
        return cls(state.params, jnp.minimum(state.step, state.stop_at))


def members_of(group: RunGroup, first_steps: Sequence[int]) -> Members:
    """The members of a run group as NumPy arrays [R]."""
    # NumPy arrays are arguments of the compiled program, so other seeds compile nothing.
    runs = group.runs
    return Member(
        seed=np.array([run.seed for run in runs], np.int32),
        data_seed=np.array([run.data_seed for run in runs], np.int32),
        first_step=np.array(first_steps, np.int32),
        learning_rate=np.array([run.train.learning_rate for run in runs], np.float32),
        weight_decay=np.array([run.train.weight_decay for run in runs], np.float32),
    )


def initial_state(setup: Setup, members: Members) -> TrainState:
    """The first state of every member. One seed gives one backbone, whatever the encodings."""

    def of_member(member: Member) -> TrainState:
        params = setup.initial_params(member.seed)
        stop_at = jnp.full((), setup.run.train.steps, jnp.int32)
        # `init` needs the links of the chain only; their numbers shape no state.
        chain = optimizer(
            setup.optimizer,
            setup.run.train,
            member.learning_rate,
            member.weight_decay,
            stop_at,
        )
        return TrainState(
            params=params,
            optimizer=chain.init(params),
            step=jnp.zeros((), jnp.int32),
            stop_at=stop_at,
            diverged_at=jnp.full((), -1, jnp.int32),
        )

    return setup.devices.over_members(of_member, num_members=len(members.seed))(members)


def abstract_state(setup: Setup, num_members: int) -> TrainState:
    """The state of a run group without values: the structure of its checkpoints."""
    # One member, for the types alone: `shape_of` sets the number of members.
    members = members_of(RunGroup((setup.run,)), [0])

    def shape_of(leaf: np.ndarray) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((num_members,), leaf.dtype)

    shapes = jax.tree.map(shape_of, members)
    return jax.eval_shape(functools.partial(initial_state, setup), shapes)


def of_member(tree: PyTree, index: int) -> PyTree:
    """The part of one member, without the member axis."""
    return jax.tree.map(lambda leaf: leaf[index], tree)
