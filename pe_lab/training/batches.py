"""The batches of training and evaluation: lengths, examples, layout, positions."""

import dataclasses
import functools
from typing import no_type_check

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key, Num, PyTree

from pe_lab.encodings.ops import as_positions
from pe_lab.model.streams import Stream, Streams, answering_stack
from pe_lab.positions.base import PositionScheme
from pe_lab.tasks.batch import Batch, Side, pack, packed
from pe_lab.training import splits
from pe_lab.training.random_keys import (
    DROPOUT,
    LENGTHS,
    LOOPS,
    NAMED_SCHEMES,
    SOURCE_POSITIONS,
    fold,
    stream_key,
    stream_keys,
)
from pe_lab.training.setup import Setup


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ModelBatch:
    """The input of a model, and the labels for its logits.

    Attributes:
      streams: the input of each stack.
      labels: the id that each place must give.
      scores: a pytree of [B, L] leaves, which the loss or the metrics read.
      dropout_keys: one for each example; None: no dropout.
      num_loops: one number for the whole batch; None: all loops of the model.
    """

    streams: Streams
    labels: Int[Array, "b l"]
    scores: PyTree
    dropout_keys: Key[Array, "b"] | None = None
    num_loops: Int[Array, ""] | None = None

    @property
    def masks(self) -> tuple[Bool[Array, "b _"], ...]:
        return tuple(stream.mask for stream in self.streams.values())

    def select(self, rows: Int[Array, "r"]) -> "ModelBatch":
        """The examples with these indices."""
        return ModelBatch(
            streams={name: stream.select(rows) for name, stream in self.streams.items()},
            labels=self.labels[rows],
            scores=jax.tree.map(lambda leaf: leaf[rows], self.scores),
            dropout_keys=None if self.dropout_keys is None else self.dropout_keys[rows],
            num_loops=self.num_loops,
        )

    def shorten(self, num_tokens: tuple[int, ...]) -> "ModelBatch":
        """The first tokens of each stream, whose numbers are in the order of `masks`."""
        lengths = dict(zip(self.streams, num_tokens, strict=True))
        # Labels belong to the stack that answers; an encoder's stream may have another length.
        length = lengths[answering_stack(lengths)]
        return ModelBatch(
            streams={name: self.streams[name].shorten(lengths[name]) for name in lengths},
            labels=self.labels[:, :length],
            scores=jax.tree.map(lambda leaf: leaf[:, :length], self.scores),
            dropout_keys=self.dropout_keys,
            num_loops=self.num_loops,
        )


def draw_lengths(
    setup: Setup,
    key: Key[Array, ""],
    step: Int[Array, ""],
    index: Int[Array, "n"],
    first_step: Int[ArrayLike, ""] = 0,
) -> Int[Array, "n"]:
    """Lengths of the examples with these indices, or one length for the whole step.

    Args:
      first_step: the step at which the run started; a schedule of lengths counts from there.
    """
    train = setup.run.train
    # Static: a distribution computes its weights in NumPy while the program is traced.
    lengths = np.arange(train.min_length, train.max_length + 1)

    def draw(key: Key[Array, ""]) -> Int[Array, ""]:
        return setup.lengths.draw(key, lengths, step - first_step)

    key = stream_key(key, LENGTHS)
    if train.length_per == "step":
        # The key depends on the step alone, so all examples of the step have one length.
        one_key = fold(key, step[None])
        length = jax.vmap(draw)(one_key)
        return jnp.broadcast_to(length, index.shape)
    # By example, so that an example of a finite training set keeps its length.
    keys = fold(key, index)
    return jax.vmap(draw)(keys)


def draw_examples(
    setup: Setup,
    keys: Key[Array, "n"],
    lengths: Int[Array, "n"],
    bound: int,
    data: PyTree = None,
) -> Batch:
    """Draw and lay out one training example for each key, in the shapes of length `bound`."""
    # Inputs that are held out for evaluation are drawn again.
    rule = setup.split_rule
    examples = splits.draw(setup.task, rule, keys, lengths, bound, data, held_out=False)
    # A layout is written for one example; vmap adds the batch axis.
    lay_out = functools.partial(setup.layout, setup.task)
    return jax.vmap(lay_out)(examples)


def dropout_keys(
    setup: Setup,
    key: Key[Array, ""],
    step: Int[Array, ""],
) -> Key[Array, "b"] | None:
    """One key for each context, so that micro-batches drop what the whole batch would drop."""
    if not setup.run.model.dropout:
        return None
    dropout_key = stream_key(key, DROPOUT)
    step_key = jax.random.fold_in(dropout_key, step)
    index = jnp.arange(setup.run.train.batch_size)
    return fold(step_key, index)


def draw_num_loops(
    setup: Setup,
    key: Key[Array, ""],
    step: Int[Array, ""],
) -> Int[Array, ""] | None:
    """The number of loops of a step; None where every step has all loops."""
    fewest = setup.run.train.min_loops
    most = setup.run.model.num_loops
    if fewest is None:
        return None
    loops_key = stream_key(key, LOOPS)
    step_key = jax.random.fold_in(loops_key, step)
    return jax.random.randint(step_key, (), fewest, most + 1)


def add_positions(
    setup: Setup,
    batch: Batch,
    keys: Key[Array, "n"],
    *,
    train: bool,
    offset: Int[ArrayLike, ""] = 0,
) -> tuple[Batch, Streams]:
    """The contexts of a batch with one example a row, and the streams of the stacks.

    Args:
      keys: of each example's positions; the source's are folded from them.
      train: several examples are packed into one context, where the layout says so.
      offset: added to every position.
    """
    # Evaluation measures each example alone, also in layouts that pack training contexts.
    count = setup.layout.examples_per_context if train else 1
    contexts = pack(batch, count) if count > 1 else batch
    stream = functools.partial(_stream, setup, train=train, offset=offset)
    answering = answering_stack(setup.abstract_model.stacks)
    streams = {answering: stream(batch.side, contexts.side, keys)}
    if batch.source is not None and contexts.source is not None:
        streams["encoder"] = stream(batch.source, contexts.source, keys, is_source=True)
    return contexts, streams


def _stream(
    setup: Setup,
    examples: Side,
    contexts: Side,
    keys: Key[Array, "n"],
    *,
    is_source: bool = False,
    train: bool,
    offset: Int[ArrayLike, ""],
) -> Stream:
    """The stream of one side of a batch."""
    tokens, mask, segments = contexts.tokens, contexts.mask, contexts.segments
    is_apart = segments is not None and setup.layout.document_mask
    num_packed = len(keys) // len(mask)  # examples in a context
    positions = []
    for index, scheme in enumerate(setup.schemes):
        positions_of = functools.partial(_positions, scheme, train=train, offset=offset)
        draws_again = is_source and not scheme.one_draw
        scheme_keys = _scheme_keys(keys, index, is_source=draws_again)
        if not is_apart:
            # One range of positions for the whole context; its first example's key draws them.
            first_keys = scheme_keys[::num_packed]
            positions.append(positions_of(first_keys, mask, contexts.structure, segments))
            continue
        # Every example has its own positions, which are packed as its tokens are.
        example_mask = examples.mask
        rows = positions_of(scheme_keys, example_mask, examples.structure, None)
        num_rows, _, _, *axes = rows.shape  # (layers or 1, examples or 1, length, *axes)
        # A scheme may give one row for all examples, but packing needs a row for each.
        rows = jnp.broadcast_to(rows, (num_rows, *example_mask.shape, *axes))
        pack_rows = functools.partial(packed, mask=example_mask, k=num_packed)
        positions.append(jax.vmap(pack_rows)(rows))
    if is_apart:
        # Positions restart inside of a context, so no fast form for one arange may be used.
        arange = (False,) * len(positions)
        return Stream(tokens, tuple(positions), mask, segments, arange)
    arange = tuple(scheme.arange for scheme in setup.schemes)
    # Without a document mask the packed examples see each other, so they are one segment.
    return Stream(tokens, tuple(positions), mask, None, arange)


def _scheme_keys(
    keys: Key[Array, "n"],
    index: int,
    *,
    is_source: bool,
) -> Key[Array, "n"]:
    """The keys of a scheme; index 0 is the study's."""
    if index > 0:
        keys = stream_keys(keys, NAMED_SCHEMES)
        keys = stream_keys(keys, index)
    if is_source:
        keys = stream_keys(keys, SOURCE_POSITIONS)
    return keys


def _positions(
    scheme: PositionScheme,
    keys: Key[Array, "n"],
    mask: Bool[Array, "n l"],
    structure: PyTree,
    segments: Int[Array, "n l"] | None,
    *,
    train: bool,
    offset: Int[ArrayLike, ""],
) -> Num[Array, "_ _ l *a"]:
    """Positions plus an offset, 0 at padding; one row for the whole batch stays one row."""
    positions = scheme(keys, mask, segments=segments, structure=structure, train=train)
    positions = as_positions(positions)  # before the offset, which a narrow type cannot hold
    valid = mask
    is_shared = positions.shape[1] == 1  # one row for the whole batch
    # A position is used if any example has a token there.
    if is_shared and len(mask) > 1:
        valid = mask.any(axis=0, keepdims=True)
    valid = valid[None]
    if positions.ndim == 4:  # (layers, batch, length, axes)
        valid = valid[..., None]
    return jnp.where(valid, positions + offset, 0)


def loss_weights(setup: Setup, batch: Batch) -> Float[Array, "b l"]:
    """Weight of each token's loss in the batch loss, which is linear in the losses."""
    reduce = functools.partial(
        reduce_loss,
        counted=batch.target,
        reduction=setup.run.train.loss_reduction,
        segments=batch.segments,
        examples_per_context=setup.layout.examples_per_context,
    )
    # The gradient of a linear function is its weights, so there is one definition of both.
    no_losses = jnp.zeros(batch.labels.shape)
    return jax.grad(reduce)(no_losses)


def reduce_loss(
    losses: Float[Array, "b l"],
    counted: Bool[Array, "b l"],
    reduction: str,
    segments: Int[Array, "b l"] | None = None,
    examples_per_context: int = 1,
) -> Float[Array, ""]:
    """Mean over counted tokens ("token"), or over examples of their means ("example").

    Args:
      segments: the example of each token, from 1, in contexts of several examples.
    """
    # A loss that is not counted may be NaN, and NaN * 0 is NaN.
    losses = jnp.where(counted, losses, 0)
    if reduction == "token":
        total = losses.sum()
        num_counted = jnp.maximum(counted.sum(), 1)  # 0 instead of 0 / 0 if nothing is counted
        return total / num_counted
    if segments is not None:
        numbers = jnp.arange(1, examples_per_context + 1)
        in_example = segments[:, None] == numbers[None, :, None]  # [B, k, L]
        losses = losses[:, None] * in_example
        counted = counted[:, None] & in_example
    totals = losses.sum(axis=-1)
    num_counted = jnp.maximum(counted.sum(axis=-1), 1)
    means = totals / num_counted
    return means.mean()
