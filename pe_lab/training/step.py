"""The compiled training: a chunk of steps over the replicas of a cell.

One step, in order: lengths -> examples -> layout -> contexts with positions -> logits -> loss ->
gradients -> update. Every random number is a fold of (seed, stream, index), so nothing random has
state and a resumed training is bit-equal to an unbroken one.
"""

import dataclasses
import functools
import hashlib
from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jaxtyping import Array, Float, Key

from pe_lab.kernels import Kernels, choose, microbatches
from pe_lab.model.flops import forward_flops
from pe_lab.model.streams import Stream
from pe_lab.model.transformer import Transformer
from pe_lab.positions.base import PositionScheme
from pe_lab.runs import plugins
from pe_lab.runs.errors import UserError
from pe_lab.runs.run import Run
from pe_lab.tasks.base import Task
from pe_lab.tasks.layouts import LAYOUTS, Batch, Layout, pack, packed
from pe_lab.training import devices, leaks, splits
from pe_lab.training.optimizer import optimizer

# The streams of a data seed. Integers are for ever: another number is another experiment.
EXAMPLES, LENGTHS, POSITIONS, DROPOUT, EVALUATION, SOURCE_POSITIONS = range(6)

# params, optimizer, step, stop_at (no step from here on), diverged_at (-1 while alive); with a
# replica axis outside of jit
State = dict[str, Any]
Read = tuple[Batch, Stream, Stream | None]  # what `contexts` gives
Replicas = dict[
    str, Array
]  # seed, data_seed, first_step (of its data), learning_rate, weight_decay, each [R]


@dataclasses.dataclass(frozen=True)
class Setup:
    """All that is static in a cell, built once and closed over by its programs."""

    run: Run
    task: Task
    layout: Layout
    scheme: PositionScheme
    graph: nnx.GraphDef
    kernels: Kernels
    in_microbatches: bool  # the gradient of a step is summed over parts of its batch
    vmapped: bool  # replicas train as one batch, not one after the other
    batch_devices: int  # that a replica's batch is shared by
    split_rule: splits.Rule  # which inputs are held out for evaluation
    trained_inputs: splits.Trained | None  # None: the task's data has disjoint splits

    def model(self, params: Any) -> Transformer:
        return nnx.merge(self.graph, params)

    def side_by_side(self, f: Callable, *args: Any) -> Any:
        """Maps a function of one replica over the replica axis, on all devices."""
        return devices.side_by_side(_vmap if self.vmapped else _map, self.batch_devices, f, *args)

    @functools.cached_property
    def evaluated_task(self) -> Task:
        """The task that evaluation draws from; training draws from `task`."""
        return plugins.build("tasks", self.run.evaluated_task)

    def data(self, split: str) -> Any:
        """What the task's examples of a split are drawn from."""
        return jax.device_put(self.task.data(split))

    @functools.cached_property
    def data_digest(self) -> str | None:
        """sha256 of what the task's examples are drawn from, of all splits; None where all is drawn
        from keys.
        """
        leaves = [
            leaf
            for split in ("train", "validation", "test")
            for leaf in jax.tree.leaves(self.task.data(split))
        ]
        found = hashlib.sha256()
        for leaf in map(np.asarray, leaves):
            found.update(f"{leaf.dtype}{leaf.shape}".encode() + leaf.tobytes())
        return found.hexdigest() if leaves else None

    def num_tokens(self, length: int) -> dict[str, int]:
        """Stack -> L of an example of this length; the stack that answers is last."""
        return self.layout.num_tokens(self.task, length)

    def context_lengths(self, length: int, train: bool) -> dict[str, int]:
        """Stack -> tokens whose positions are counted through, for examples up to this length."""
        k = self.layout.examples_per_context if train and not self.layout.document_mask else 1
        return {stack: k * n for stack, n in self.num_tokens(length).items()}

    def readers(self, length: int, train: bool) -> list[tuple[Any, int, int | float]]:
        """Every encoding that reads positions, the tokens of the longest stream that it reads, and
        its largest position.
        """
        lengths, found = self.context_lengths(length, train), []
        for name, stack in self.abstract_model.stacks.items():
            streams = list(lengths) if any(stack.cross_sites) else [name]
            sites = zip(stack.input_encodings, stack.input_sites, strict=True)
            pairs: list[Any] = [(e, site.axis, [name]) for e, site in sites]
            pairs += [(e, axis, streams) for e, axis in stack.attention_axes()]
            for encoding, axis, reads in pairs:
                largest = max(self._largest(length, train, stream, axis) for stream in reads)
                found.append((encoding, max(lengths[stream] for stream in reads), largest))
        return [each for each in found if each[0].requirements.reads_positions]

    def _largest(self, length: int, train: bool, stack: str, axis: int | None) -> int | float:
        """Position of a stack's stream; on all axes, or one."""
        tokens, parts = (
            self.context_lengths(length, train)[stack],
            self.layout.parts(self.task, length)[stack],
        )
        packed = parts * (tokens // sum(parts))
        axes = range(self.scheme.num_axes) if axis is None else [axis]
        return max(self.scheme.bound_on(a, tokens, train, packed) for a in axes)

    @property
    def step_flops(self) -> int:
        """What a step of one replica asks for without padding: three times its forward passes."""
        train, vocabularies, k = (
            self.run.train,
            self.layout.vocabularies(self.task),
            self.layout.examples_per_context,
        )
        alone = self.layout.document_mask
        lengths = [self.num_tokens(n) for n in range(train.min_length, train.max_length + 1)]
        contexts = [
            n if alone else {stack: k * count for stack, count in n.items()} for n in lengths
        ]
        forward = sum(forward_flops(self.run.model, vocabularies, n) for n in contexts) // len(
            contexts
        )
        return 3 * forward * train.batch_size * (k if alone else 1)

    @property
    def knows_target_length(self) -> bool:
        """Whether the layout, positions that are read, or an encoding that reads lengths, tell how
        long the target is.
        """
        told = self.revealed is not None or any(e.requirements.reads_length for e in self.encodings)
        return self.layout.knows_target_length or told

    @property
    def revealed(self) -> Literal["length", "answer"] | None:
        """What positions reveal of a target; nothing where no encoding reads them."""
        if not any(e.requirements.reads_positions for e in self.encodings):
            return None
        return leaks.revealed(self.task, self.layout, self.scheme)

    @functools.cached_property
    def abstract_model(self) -> Transformer:
        """The model without values."""
        return nnx.eval_shape(lambda: _model(self.run, self.task, self.layout, self.kernels, 0))

    @functools.cached_property
    def abstract_params(self) -> Any:
        """The parameters of one replica without values."""
        return nnx.to_pure_dict(nnx.state(self.abstract_model, nnx.Param))

    @property
    def encodings(self) -> list[Any]:
        """Every encoding module, without values."""
        return [*self.abstract_model.input_encodings, *self.abstract_model.attention_encodings]


def setup(run: Run, *, trained: bool = True, platform: str | None = None) -> Setup:
    """Builds what a run's config names, and refuses what cannot be trained.

    Args:
      trained: the run is to be trained like this, and not only evaluated.
      platform: "cpu", "cuda", "tpu", …, for which programs are compiled; None: this process's.

    Raises:
      UserError: an encoding, scheme or task refuses its arguments, the sizes or the lengths.
    """
    task = plugins.build("tasks", run.task)
    options = {k: v for k, v in dataclasses.asdict(run.layout).items() if k != "name"}
    layout = LAYOUTS[run.layout.name](**options)
    scheme = plugins.build("positions", run.positions, num_layers=run.model.num_layers)
    platform = jax.default_backend() if platform is None else platform
    kernels = choose(run.execution.kernels, platform)
    graph = nnx.graphdef(nnx.eval_shape(lambda: _model(run, task, layout, kernels, 0)))
    vmap = run.execution.replicas == "vmap" or (
        run.execution.replicas == "auto" and platform != "cpu"
    )
    in_microbatches = kernels.microbatches and not vmap
    made = Setup(
        run,
        task,
        layout,
        scheme,
        graph,
        kernels,
        in_microbatches,
        vmap,
        devices.for_batch(run.execution.batch_devices),
        _split_rule(run),
        _trained_inputs(run, task),
    )
    _check_lengths(made, trained)
    return made


def _split_rule(run: Run) -> splits.Rule:
    """The rule of the task that evaluation draws from: frozen examples follow it too."""
    if run.train.drawing == 1:
        return splits.Rule(None)
    return splits.rule(plugins.build("tasks", run.evaluated_task))


def _trained_inputs(run: Run, task: Task) -> splits.Trained | None:
    if splits.has_data(task):
        return None
    inputs = splits.trained(task, run.train.min_length, run.train.max_length)
    return dataclasses.replace(inputs, everywhere=run.init_from is not None)


def _model(run: Run, task: Task, layout: Layout, kernels: Kernels, seed: Any) -> Transformer:
    return Transformer(
        run.model, layout.vocabularies(task), kernels=kernels, key=jax.random.key(seed)
    )


def _vmap(f: Callable, *args: Any) -> Any:
    return jax.vmap(f)(*args)


def _map(f: Callable, *args: Any) -> Any:
    return jax.lax.map(lambda arg: f(*arg), args)


def _check_lengths(made: Setup, trained: bool) -> None:
    run, longest = made.run, made.task.max_length
    asked = (run.train.max_length, *run.evaluate.all_lengths)
    shortest = min(run.train.min_length, *run.evaluate.all_lengths)
    if shortest < made.task.min_length:
        raise UserError(
            f"{run.task.name} has no examples shorter than {made.task.min_length} "
            f"{made.task.length_name}, got length {shortest}:"
            " see config.train.min_length and the lengths of config.evaluate."
        )
    if longest is not None and max(asked) > longest:
        raise UserError(
            f"{run.task.name} with these arguments has no examples longer than {longest} "
            f"{made.task.length_name}, got length {max(asked)}:"
            " see config.train.max_length and the lengths of config.evaluate."
        )
    if empty := [stack for stack, n in made.num_tokens(max(asked)).items() if n == 0]:
        raise UserError(
            f"{run.task.name} has no prompt, so the {empty[0]} of the layout {run.layout.name} "
            f"would have nothing to read."
        )
    for encoding in made.encodings:
        if (
            encoding.requirements.reads_positions
            and made.scheme.real
            and encoding.requirements.whole_positions
        ):
            raise UserError(
                f"{name_of(encoding)} needs whole positions; the scheme {run.positions.name} "
                f"gives fractions."
            )
        if encoding.requirements.reads_length and run.layout.examples_per_context > 1:
            why = "config.layout.examples_per_context must be 1"
            raise UserError(
                f"{name_of(encoding)} reads an example's length with these arguments, so {why}."
            )
        if (
            encoding.requirements.reads_between
            and run.model.sink_token
            and run.layout.examples_per_context > 1
            and run.layout.document_mask
        ):
            why = "between an example and the sink token stand the others of its context"
            raise UserError(
                f"{name_of(encoding)} cannot pack examples apart with a sink token: {why}."
            )
    _check_axes(made)
    if made.revealed == "answer":
        raise UserError(
            f"{run.task.name} cannot have the positions {run.positions.name} in the layout "
            f"{run.layout.name}: "
            "the position of a target token would reveal the answer."
        )
    if trained and (reason := out_of_reach(made, run.train.max_length, 0, train=True)):
        raise UserError(f"{reason}: training there would teach nothing.")


def _check_axes(made: Setup) -> None:
    """That every encoding reads positions of as many axes as the scheme gives."""
    given, scheme = made.scheme.num_axes, made.run.positions.name
    for stack in made.abstract_model.stacks.values():
        pairs = [
            (e, site.axis) for e, site in zip(stack.input_encodings, stack.input_sites, strict=True)
        ]
        for encoding, axis in [*pairs, *stack.attention_axes()]:
            name, reads = name_of(encoding), encoding.requirements.num_axes
            if axis is not None and (given == 1 or axis >= given or reads > 1):
                why = (
                    f"it reads {_axes(reads)}"
                    if reads > 1
                    else f"the scheme {scheme} gives {_axes(given)}"
                )
                raise UserError(f"{name} cannot act on axis {axis} of positions: {why}.")
            if axis is None and encoding.requirements.reads_positions and reads != given:
                help_ = f": choose one, dict(name={name!r}, axis=0)" if reads == 1 else ""
                raise UserError(
                    f"{name} reads positions of {_axes(reads)}, the scheme {scheme} gives "
                    f"{_axes(given)}{help_}."
                )


def _axes(number: int) -> str:
    return "one axis" if number == 1 else f"{number} axes"


def out_of_reach(made: Setup, length: int, offset: int, *, train: bool = False) -> str | None:
    """Why examples of a length cannot be given positions or codes, or None if they can."""
    for encoding, num_tokens, bound in made.readers(length, train):
        if made.scheme.max_length is not None and num_tokens > made.scheme.max_length:
            return (
                f"{made.run.positions.name} has {made.scheme.max_length} positions; length "
                f"{length} asks for {num_tokens}"
            )
        largest = bound + offset
        room = encoding.requirements.max_positions
        if room is not None and largest >= room:
            return (
                f"{name_of(encoding)} has positions 0..{room - 1}; length {length} asks for "
                f"position {largest:g}"
            )
    return None


def name_of(encoding: Any) -> str:
    """The word for an encoding in configs: the name of its file."""
    return type(encoding).__module__.rpartition(".")[2]


def init(made: Setup, replicas: Replicas) -> State:
    """The first state of every replica. One seed gives one backbone, whatever the encodings."""

    def one(replica):
        params = nnx.to_pure_dict(
            nnx.state(
                _model(made.run, made.task, made.layout, made.kernels, replica["seed"]), nnx.Param
            )
        )
        chain = optimizer(made.run.train, replica["learning_rate"], replica["weight_decay"])
        return {
            "params": params,
            "optimizer": chain.init(params),
            "step": jnp.zeros((), jnp.int32),
            "stop_at": jnp.full((), made.run.train.steps, jnp.int32),
            "diverged_at": jnp.full((), -1, jnp.int32),
        }

    return made.side_by_side(one, replicas)


def chunk(
    made: Setup, state: State, replicas: Replicas, num_steps: Array, data: Any = None
) -> tuple[State, Float[Array, "r k"]]:
    """Trains every replica for `num_steps` (traced, at most execution.chunk_steps) more steps.

    Args:
      data: the task's of the split "train".

    Returns:
      The new state and the loss of each step, 0 beyond `num_steps`.
    """

    def one(state, replica):
        def body(i, carry):
            state, losses = carry
            state, loss = step(made, state, replica, data)
            return state, losses.at[i].set(loss)

        losses = jnp.zeros(made.run.execution.chunk_steps)
        return jax.lax.fori_loop(0, num_steps, body, (state, losses))

    return made.side_by_side(one, state, replicas)


def step(
    made: Setup, state: State, replica: dict[str, Array], data: Any = None
) -> tuple[State, Float[Array, ""]]:
    """One step of one replica. A loss or gradient that is not finite stops it where it was, for
    good.
    """
    train, now = made.run.train, state["step"]
    key, index = jax.random.key(replica["data_seed"]), now + replica["first_step"]
    read = contexts(made, *draw(made, key, index, data), train=True)
    loss, gradients = value_and_grad(made, state["params"], read, _dropout_keys(made, key, index))
    chain = optimizer(train, replica["learning_rate"], replica["weight_decay"])
    updates, moments = chain.update(gradients, state["optimizer"], state["params"])
    finite = jnp.isfinite(loss) & jnp.isfinite(optax.tree.norm(gradients))
    going = (state["diverged_at"] < 0) & (now < state["stop_at"])
    new = {"params": optax.apply_updates(state["params"], updates), "optimizer": moments}
    kept = jax.tree.map(
        lambda n, o: jnp.where(going & finite, n, o), new, {k: state[k] for k in new}
    )
    diverged_at = jnp.where(going & ~finite, now, state["diverged_at"])
    return {**kept, "step": now + 1, "stop_at": state["stop_at"], "diverged_at": diverged_at}, loss


def _dropout_keys(made: Setup, key: Array, index: Array) -> Key[Array, "b"] | None:
    """One a context, so that what is dropped does not depend on which contexts are computed
    together.
    """
    rate, rows = made.run.model.dropout, jnp.arange(made.run.train.batch_size)
    return fold(jax.random.fold_in(stream_key(key, DROPOUT), index), rows) if rate else None


def value_and_grad(
    made: Setup, params: Any, read: Read, dropout_keys: Array | None
) -> tuple[Array, Any]:
    """The loss of what `contexts` gives, and its gradient; on a CPU by parts of the batch, with
    what biases they share computed once.
    """
    loss, own = (
        functools.partial(loss_of, made, read),
        devices.share(of_batch(made, read, dropout_keys), made.batch_devices),
    )
    if not made.in_microbatches:
        return devices.total(jax.value_and_grad(loss)(params, own), made.batch_devices)
    streams = [stream for stream in read[1:] if stream is not None]
    fixed = jax.lax.optimization_barrier(made.model(params).shared_biases(*streams, learned=False))
    learned, pulled_back = jax.vjp(
        lambda params: made.model(params).shared_biases(*streams, learned=True), params
    )

    def of_part(part, index):
        def f(params, learned):
            biases = {name: of_stack | fixed[name] for name, of_stack in learned.items()}
            # the barrier: or a bias would be made of each kernel in all shapes beforehand
            return loss(params, *jax.lax.optimization_barrier((part, biases)))

        return jax.value_and_grad(f, argnums=(0, 1))(params, learned)

    masks = {name: leaves["mask"] for name, leaves in own.items()}
    least = made.layout.examples_per_context * sum(
        made.num_tokens(made.run.train.min_length).values()
    )
    plan = microbatches.plan({name: mask.shape for name, mask in masks.items()}, least=least)
    value, (gradients, of_learned) = devices.total(
        microbatches.summed(plan, of_part, own, masks), made.batch_devices
    )
    return value, jax.tree.map(jnp.add, gradients, *pulled_back(of_learned))


def of_batch(
    made: Setup, read: Read, dropout_keys: Array | None = None
) -> dict[str, dict[str, Any]]:
    """Stream -> what differs from context to context, [B, L, ...] leaves, with the labels of a loss
    and each one's weight in it.
    """
    batch, answering, source = read
    own = by_example(answering) | {"labels": batch.labels, "weights": loss_weights(made, batch)}
    own |= {} if dropout_keys is None else {"dropout": dropout_keys[:, None]}
    return {"answering": own} | ({} if source is None else {"source": by_example(source)})


def loss_of(
    made: Setup, read: Read, params: Any, part: dict[str, dict[str, Any]], biases: Any = None
) -> Float[Array, ""]:
    """What a part of `of_batch` adds to the loss of the batch.

    Args:
      biases: those that all examples share, computed before.
    """
    streams = [
        cut(stream, part[name])
        for name, stream in zip(("answering", "source"), read[1:], strict=True)
        if stream is not None
    ]
    own, remat = part["answering"], made.run.execution.remat
    keys = own["dropout"][:, 0] if "dropout" in own else None
    model = made.model(params)
    terms = model.position_terms(*streams, biases=biases)
    logits = model(*streams, terms=terms, dropout_keys=keys, remat=remat)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, own["labels"])
    return jnp.where(own["weights"] != 0, losses * own["weights"], 0).sum()


def by_example(stream: Stream) -> dict[str, Any]:
    """What of a stream differs from example to example, [B, L, ...] leaves."""
    found = {"tokens": stream.tokens, "mask": stream.mask, "segments": stream.segments}
    for i, positions in enumerate(stream.positions):
        if positions.shape[1] == len(stream.tokens) > 1:
            found[f"positions {i}"] = jnp.moveaxis(positions, 0, 2)
    return {name: leaf for name, leaf in found.items() if leaf is not None}


def cut(stream: Stream, part: dict[str, Any]) -> Stream:
    """A stream with some of its examples, and as many tokens as they have."""
    own = {name: part[name] for name in ("tokens", "mask", "segments") if name in part}
    positions = []
    for i, whole in enumerate(stream.positions):
        of_part = part.get(f"positions {i}")
        num_tokens = part["tokens"].shape[1]
        positions.append(
            whole[:, :, :num_tokens] if of_part is None else jnp.moveaxis(of_part, 2, 0)
        )
    return dataclasses.replace(stream, positions=tuple(positions), **own)


def loss_weights(made: Setup, batch: Batch) -> Float[Array, "b l"]:
    """Of each token's loss in that of the batch, which is linear in them."""
    k, reduction = made.layout.examples_per_context, made.run.train.loss_reduction
    reduce = functools.partial(
        reduce_loss, counted=batch.target, reduction=reduction, segments=batch.segments, k=k
    )
    return jax.grad(reduce)(jnp.zeros(batch.labels.shape))


def draw(made: Setup, key: Array, now: Array, data: Any = None) -> tuple[Batch, Array]:
    """The batch of a step, one example a row, and the position key of each of its examples."""
    train = made.run.train
    size = train.batch_size * made.layout.examples_per_context
    index = now * size + jnp.arange(size)
    example = index if train.num_examples is None else index % train.num_examples
    lengths = jax.vmap(lambda k: jax.random.randint(k, (), train.min_length, train.max_length + 1))
    if train.length_per == "step":
        length = jnp.broadcast_to(lengths(fold(stream_key(key, LENGTHS), now[None])), example.shape)
    else:
        length = lengths(fold(stream_key(key, LENGTHS), example))
    batch = examples(made, fold(stream_key(key, EXAMPLES), example), length, train.max_length, data)
    return batch, fold(stream_key(key, POSITIONS), index)


def contexts(
    made: Setup, batch: Batch, keys: Array, *, train: bool, offset: Array | int = 0
) -> Read:
    """A batch with one example a row, in training packed; what the answering stack reads of it, and
    an encoder beside it.

    Args:
      keys: one an example, of positions; the source's are folded from them.
      offset: added to every position.
    """
    k = made.layout.examples_per_context if train else 1
    whole = pack(batch, k) if k > 1 else batch

    def stream(part: str, keys: Array) -> Stream:
        tokens, mask, segments = (
            getattr(whole, part + name) for name in ("tokens", "mask", "segments")
        )
        if segments is None or not made.layout.document_mask:  # one count through the context
            structure = getattr(whole, part + "structure")
            positions = _positions(made, keys[::k], mask, structure, train, offset, segments)
            return Stream(tokens, (positions,), mask, None, (made.scheme.arange,))
        alone, structure = getattr(batch, part + "mask"), getattr(batch, part + "structure")
        each = _positions(
            made, keys, alone, structure, train, offset
        )  # each example's own, packed as its tokens are
        rows = jnp.broadcast_to(each, (len(each), *alone.shape, *each.shape[3:]))
        return Stream(tokens, (jax.vmap(lambda row: packed(row, alone, k))(rows),), mask, segments)

    answering = stream("", keys)
    if batch.source_tokens is None:
        return whole, answering, None
    if not made.scheme.one_draw:
        keys = jax.vmap(lambda key: stream_key(key, SOURCE_POSITIONS))(keys)
    return whole, answering, stream("source_", keys)


def _positions(
    made: Setup,
    keys: Array,
    mask: Array,
    structure: Any,
    train: bool,
    offset: Any,
    segments: Any = None,
) -> Array:
    """Positions plus an offset, padding still 0; one row for the whole batch stays one."""
    positions = made.scheme(keys, mask, segments=segments, structure=structure, train=train)
    one_row = positions.shape[1] == 1 < len(mask)
    valid = (mask.any(axis=0, keepdims=True) if one_row else mask)[None]
    return jnp.where(valid[..., None] if positions.ndim == 4 else valid, positions + offset, 0)


def examples(made: Setup, keys: Array, lengths: Array, bound: int, data: Any = None) -> Batch:
    """Draw and lay out one training example a key, in the shapes of length `bound`."""
    rule = made.split_rule
    drawn = splits.draw(made.task, rule, keys, lengths, bound, data, held_out=False)
    return jax.vmap(functools.partial(made.layout, made.task))(drawn)


def stream_key(key: Array, name: int | Array) -> Array:
    """The key of a named stream."""
    return jax.random.fold_in(key, name)


def fold(key: Array, indices: Array) -> Array:
    """One key an index."""
    return jax.vmap(lambda i: jax.random.fold_in(key, i))(indices)


def reduce_loss(
    losses: Float[Array, "b l"], counted: Array, reduction: str, segments: Any = None, k: int = 1
) -> Float[Array, ""]:
    """Mean over counted tokens, or over examples of their means; `segments` tell a context's k
    examples apart.
    """
    losses = jnp.where(counted, losses, 0)
    if reduction == "token":
        return losses.sum() / jnp.maximum(counted.sum(), 1)
    if segments is not None:
        here = segments[:, None] == jnp.arange(1, k + 1)[None, :, None]  # [B, k, L]
        losses, counted = losses[:, None] * here, counted[:, None] & here
    return (losses.sum(axis=-1) / jnp.maximum(counted.sum(axis=-1), 1)).mean()
