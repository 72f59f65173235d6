"""The training step: lengths, examples, layout, positions, logits, loss, gradient, update.

`step` trains one member. `train_chunk` repeats it for all members of a run group, in one program.
Every random number is a fold of (seed, stream, index), so nothing random has state and a resumed
training is bit-equal to an unbroken one.
"""

import functools

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, ArrayLike, Float, Int, Key, PyTree

from pe_lab.kernels.microbatches import ValueAndGrad
from pe_lab.tasks.batch import Batch
from pe_lab.training import batches
from pe_lab.training.batches import ModelBatch
from pe_lab.training.optimizer import optimizer
from pe_lab.training.random_keys import EXAMPLES, POSITIONS, fold, stream_key
from pe_lab.training.setup import Setup
from pe_lab.training.state import Member, Members, TrainState

Loss = Float[Array, ""]
Carry = tuple[TrainState, Float[Array, "k"]]  # of one member: its state, losses of a chunk


def step(setup: Setup, member: Member, data: PyTree, state: TrainState) -> tuple[TrainState, Loss]:
    """One step of one member."""
    key = jax.random.key(member.data_seed)
    # A run that starts from a parent goes on in the data and does not repeat it.
    now = state.step + member.first_step
    batch = training_batch(setup, key, now, data, member.first_step)
    # Each device of the "batch" axis computes a part; loss and gradient are then summed.
    part = setup.devices.share(batch)
    part_sums = loss_and_gradient(setup)(state.params, part)
    loss, gradient = setup.devices.total(part_sums)
    return update(setup, member, state, loss, gradient), loss


def training_batch(
    setup: Setup,
    key: Key[Array, ""],
    now: Int[Array, ""],
    data: PyTree = None,
    first_step: Int[ArrayLike, ""] = 0,
) -> ModelBatch:
    """The batch of a step: contexts of one or several examples, with positions.

    Args:
      key: of the data seed.
      now: the step.
      first_step: the step at which the run started.
    """
    examples, position_keys = draw(setup, key, now, data, first_step)
    contexts, streams = batches.add_positions(setup, examples, position_keys, train=True)
    weights = batches.loss_weights(setup, contexts)
    dropout_keys = batches.dropout_keys(setup, key, now)
    num_loops = batches.draw_num_loops(setup, key, now)
    return ModelBatch(streams, contexts.labels, weights, dropout_keys, num_loops)


def draw(
    setup: Setup,
    key: Key[Array, ""],
    now: Int[Array, ""],
    data: PyTree = None,
    first_step: Int[ArrayLike, ""] = 0,
) -> tuple[Batch, Key[Array, "n"]]:
    """Examples of random lengths in their layout, one a row, and the keys of their positions."""
    train = setup.run.train
    num_examples = train.batch_size * setup.layout.examples_per_context
    number = now * num_examples + jnp.arange(num_examples)  # counted over the whole training
    index = number
    if train.num_examples is not None:  # a finite training set is repeated
        index = number % train.num_examples
    lengths = batches.draw_lengths(setup, key, now, index, first_step)
    # By the index: an example that is repeated is the same example.
    example_keys = fold(stream_key(key, EXAMPLES), index)
    examples = batches.draw_examples(setup, example_keys, lengths, train.max_length, data)
    # By the number and not the index: an example that is repeated gets new positions.
    position_keys = fold(stream_key(key, POSITIONS), number)
    return examples, position_keys


def batch_loss(setup: Setup, params: PyTree, batch: ModelBatch, biases: PyTree = None) -> Loss:
    """The loss of a batch, or the share of some of its examples: a weighted sum over tokens.

    Args:
      biases: of `shared_biases`, computed before; None: the model computes them.
    """
    model = setup.model(params)
    terms = model.position_terms(batch.streams, biases=biases)
    logits = model(
        batch.streams,
        terms=terms,
        dropout_keys=batch.dropout_keys,
        num_loops=batch.num_loops,
        remat=setup.run.execution.remat,
    )
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.labels)
    # A token without weight may have an infinite loss, and 0 times infinity is NaN.
    return jnp.where(batch.scores != 0, losses * batch.scores, 0).sum()


def loss_and_gradient(setup: Setup) -> ValueAndGrad:
    """A function of parameters and a batch, or a part of it: the loss and its gradient."""

    def shared_biases(params: PyTree, batch: PyTree) -> tuple[PyTree, PyTree]:
        return setup.model(params).shared_biases(batch.streams)

    shortest_example = setup.num_tokens(setup.run.train.min_length)
    # No shape of a micro-batch is compiled for fewer tokens than this.
    shortest_context = setup.layout.examples_per_context * sum(shortest_example.values())
    return setup.kernels.value_and_grad(
        functools.partial(batch_loss, setup), shared_biases, least=shortest_context
    )


def update(
    setup: Setup,
    member: Member,
    state: TrainState,
    loss: Loss,
    gradient: PyTree,
) -> TrainState:
    """The state after a step. A member whose loss or gradient is not finite stops there."""
    train = setup.run.train
    chain = optimizer(
        setup.optimizer, train, member.learning_rate, member.weight_decay, state.stop_at
    )
    updates, moments = chain.update(gradient, state.optimizer, state.params)
    params = optax.apply_updates(state.params, updates)
    # The norm is not finite if one entry is not, or if the sum of squares overflows.
    is_finite = jnp.isfinite(loss) & jnp.isfinite(optax.tree.norm(gradient))
    # The step is computed for stopped members too, and dropped: a vmapped program has no branches.
    is_running = (state.diverged_at < 0) & (state.step < state.stop_at)
    params, moments = jax.tree.map(
        lambda new, old: jnp.where(is_running & is_finite, new, old),
        (params, moments),
        (state.params, state.optimizer),
    )
    return TrainState(
        params=params,
        optimizer=moments,
        step=state.step + 1,  # of a stopped member too: all members of a group share the clock
        stop_at=state.stop_at,
        diverged_at=jnp.where(is_running & ~is_finite, state.step, state.diverged_at),
    )


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
