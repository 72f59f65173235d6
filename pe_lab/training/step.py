"""The compiled training: a chunk of steps over the replicas of a cell.

One step, in order: lengths -> examples -> layout -> positions -> logits -> loss -> gradients -> update.
Every random number is a fold of (seed, stream, index), so nothing random has state and a resumed
training is bit-equal to an unbroken one.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
from flax import nnx
from jaxtyping import Array, Float

from pe_lab import plugins
from pe_lab.config import Run
from pe_lab.errors import UserError
from pe_lab.positions.base import PositionScheme
from pe_lab.tasks.base import Task
from pe_lab.tasks.layouts import LAYOUTS, Batch, Decoder
from pe_lab.training.optimizer import optimizer
from pe_lab.transformer.transformer import Transformer, forward_flops

# The streams of a data seed. Integers are for ever: another number is another experiment.
EXAMPLES, LENGTHS, POSITIONS, DROPOUT, EVALUATION = range(5)

State = dict[str, Any]  # params, optimizer, step, diverged_at (-1 while alive); with a replica axis outside of jit
Replicas = dict[str, Array]  # seed, data_seed, learning_rate, weight_decay, each [R]


@dataclasses.dataclass(frozen=True)
class Setup:
    """All that is static in a cell, built once and closed over by its programs."""

    run: Run
    task: Task
    layout: Decoder
    scheme: PositionScheme
    graph: nnx.GraphDef
    fused: bool
    side_by_side: Callable  # maps a function of one replica over the replica axis

    def model(self, params: Any) -> Transformer:
        return nnx.merge(self.graph, params)

    def num_tokens(self, length: int) -> int:
        """L of an example of this length."""
        return self.layout.num_tokens(self.task, length)

    @property
    def train_flops(self) -> int:
        """What one replica's training asks for without padding: three times its forward passes."""
        train, words = self.run.train, self.task.vocabulary.size
        lengths = range(train.min_length, train.max_length + 1)
        forward = sum(forward_flops(self.run.model, words, self.num_tokens(n)) for n in lengths) // len(lengths)
        return 3 * forward * train.batch_size * train.steps

    @property
    def encodings(self) -> list[Any]:
        """Every encoding module, without values."""
        model = nnx.eval_shape(lambda: _model(self.run, self.task, 0))
        return [*model.input_encodings, *model.attention_encodings]


def setup(run: Run) -> Setup:
    """Builds what a run's config names, and refuses what cannot be trained.

    Raises:
      UserError: an encoding, scheme or task refuses its arguments, the sizes or the lengths.
    """
    task = plugins.build("tasks", run.task)
    layout = LAYOUTS[run.layout.name](end_token=run.layout.end_token)
    scheme = plugins.build("positions", run.positions, num_layers=run.model.num_layers)
    graph = nnx.graphdef(nnx.eval_shape(lambda: _model(run, task, 0)))
    accelerator = jax.default_backend() != "cpu"
    fused = run.execution.attention == "fused" or (run.execution.attention == "auto" and accelerator)
    vmap = run.execution.replicas == "vmap" or (run.execution.replicas == "auto" and accelerator)
    made = Setup(run, task, layout, scheme, graph, fused, _vmap if vmap else _map)
    _check_lengths(made)
    return made


def _model(run: Run, task: Task, seed: Any) -> Transformer:
    return Transformer(run.model, task.vocabulary.size, key=jax.random.key(seed))


def _vmap(f: Callable, *args: Any) -> Any:
    return jax.vmap(f)(*args)


def _map(f: Callable, *args: Any) -> Any:
    return jax.lax.map(lambda arg: f(*arg), args)


def _check_lengths(made: Setup) -> None:
    run, longest = made.run, made.task.max_length
    asked = (run.train.max_length, *run.evaluate.lengths, *run.evaluate.curve_lengths)
    if longest is not None and max(asked) > longest:
        raise UserError(f"{run.task.name} has no examples longer than {longest} {made.task.length_name}, got length {max(asked)}.")
    for encoding in made.encodings:
        if encoding.reads_positions and made.scheme.real and not encoding.real_positions:
            raise UserError(f"{_name(encoding)} needs whole positions; the scheme {run.positions.name} gives fractions.")
    if reason := out_of_reach(made, run.train.max_length, 0):
        raise UserError(f"{reason}: training there would teach nothing.")


def out_of_reach(made: Setup, length: int, offset: int) -> str | None:
    """Why examples of a length cannot be given positions or codes, or None if they can."""
    num_tokens = made.num_tokens(length)
    readers = [encoding for encoding in made.encodings if encoding.reads_positions]
    if readers and made.scheme.max_length is not None and num_tokens > made.scheme.max_length:
        return f"{made.run.positions.name} has {made.scheme.max_length} positions; length {length} asks for {num_tokens}"
    largest = made.scheme.bound(num_tokens) + offset
    for encoding in readers:
        if encoding.max_positions is not None and largest >= encoding.max_positions:
            return f"{_name(encoding)} has positions 0..{encoding.max_positions - 1}; length {length} asks for position {largest:g}"
    return None


def _name(encoding: Any) -> str:
    """The word for an encoding in configs: the name of its file."""
    return type(encoding).__module__.rpartition(".")[2]


def init(made: Setup, replicas: Replicas) -> State:
    """The first state of every replica. One seed gives one backbone, whatever the encodings."""

    def one(replica):
        params = nnx.to_pure_dict(nnx.state(_model(made.run, made.task, replica["seed"]), nnx.Param))
        chain = optimizer(made.run.train, replica["learning_rate"], replica["weight_decay"])
        return {
            "params": params,
            "optimizer": chain.init(params),
            "step": jnp.zeros((), jnp.int32),
            "diverged_at": jnp.full((), -1, jnp.int32),
        }

    return made.side_by_side(one, replicas)


def chunk(made: Setup, state: State, replicas: Replicas, num_steps: Array) -> tuple[State, Float[Array, "r k"]]:
    """Trains every replica for `num_steps` (traced, at most execution.chunk_steps) more steps.

    Returns:
      The new state and the loss of each step, 0 beyond `num_steps`.
    """

    def one(state, replica):
        def body(i, carry):
            state, losses = carry
            state, loss = step(made, state, replica)
            return state, losses.at[i].set(loss)

        losses = jnp.zeros(made.run.execution.chunk_steps)
        return jax.lax.fori_loop(0, num_steps, body, (state, losses))

    return made.side_by_side(one, state, replicas)


def step(made: Setup, state: State, replica: dict[str, Array]) -> tuple[State, Float[Array, ""]]:
    """One step of one replica. A loss or gradient that is not finite stops it where it was, for good."""
    train, now = made.run.train, state["step"]
    key = jax.random.key(replica["data_seed"])
    batch, position_keys = draw(made, key, now)
    positions = made.scheme(position_keys, batch.mask, train=True)
    dropout_key = jax.random.fold_in(stream(key, DROPOUT), now) if made.run.model.dropout else None

    def loss_of(params):
        logits = made.model(params)(
            batch.tokens, positions, batch.mask, arange=made.scheme.arange, dropout_key=dropout_key, fused=made.fused
        )
        losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.labels)
        return reduce_loss(losses, batch.target, train.loss_reduction)

    loss, gradients = jax.value_and_grad(loss_of)(state["params"])
    chain = optimizer(train, replica["learning_rate"], replica["weight_decay"])
    updates, moments = chain.update(gradients, state["optimizer"], state["params"])
    finite = jnp.isfinite(loss) & jnp.isfinite(optax.tree.norm(gradients))
    alive = (state["diverged_at"] < 0) & finite
    new = {"params": optax.apply_updates(state["params"], updates), "optimizer": moments}
    kept = jax.tree.map(lambda n, o: jnp.where(alive, n, o), new, {k: state[k] for k in new})
    diverged_at = jnp.where((state["diverged_at"] < 0) & ~finite, now, state["diverged_at"])
    return {**kept, "step": now + 1, "diverged_at": diverged_at}, loss


def draw(made: Setup, key: Array, now: Array) -> tuple[Batch, Array]:
    """The batch of a step and the position key of each of its examples."""
    train = made.run.train
    index = now * train.batch_size + jnp.arange(train.batch_size)
    example = index if train.num_examples is None else index % train.num_examples
    lengths = jax.vmap(lambda k: jax.random.randint(k, (), train.min_length, train.max_length + 1))
    if train.length_per == "step":
        length = jnp.broadcast_to(lengths(fold(stream(key, LENGTHS), now[None])), example.shape)
    else:
        length = lengths(fold(stream(key, LENGTHS), example))
    batch = examples(made, fold(stream(key, EXAMPLES), example), length, train.max_length)
    return batch, fold(stream(key, POSITIONS), index)


def examples(made: Setup, keys: Array, lengths: Array, bound: int) -> Batch:
    """Draws and lays out one example a key, in the shapes of length `bound`."""

    def one(key, length):
        return made.layout(made.task, made.task.sample(key, length, bound))

    return jax.vmap(one)(keys, lengths)


def stream(key: Array, name: int | Array) -> Array:
    """The key of a named stream."""
    return jax.random.fold_in(key, name)


def fold(key: Array, indices: Array) -> Array:
    """One key an index."""
    return jax.vmap(lambda i: jax.random.fold_in(key, i))(indices)


def reduce_loss(losses: Float[Array, "b l"], counted: Array, reduction: str) -> Float[Array, ""]:
    """Mean over counted tokens, or over examples of their means."""
    losses = jnp.where(counted, losses, 0)
    if reduction == "token":
        return losses.sum() / jnp.maximum(counted.sum(), 1)
    return (losses.sum(axis=1) / jnp.maximum(counted.sum(axis=1), 1)).mean()
