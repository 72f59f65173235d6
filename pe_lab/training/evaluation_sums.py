"""The compiled evaluation: all metrics of a length (pe_lab/metrics) from one forward pass.

For a causal model without dropout, "every target token is the argmax under teacher forcing, the end
included" is "greedy decoding is exactly right", so nothing is generated. An encoder fills its
blanks in one pass, so the output of that pass is measured.
"""

import dataclasses
import functools
from typing import no_type_check

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PyTree

from pe_lab.metrics.base import Predictions, Sums, measured_for
from pe_lab.model.streams import Streams
from pe_lab.model.transformer import Transformer
from pe_lab.tasks.base import Example
from pe_lab.training import batches, evaluation_data
from pe_lab.training.batches import ModelBatch
from pe_lab.training.random_keys import EVALUATED_POSITIONS, stream_keys
from pe_lab.training.setup import Setup


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Examples:
    """The examples of one batch of an evaluation, as traced integers.

    Attributes:
      split: its index in SPLITS.
      offset: added to every position.
      first: index of the batch's first example.
      num_examples: examples with larger indices are not counted.
    """

    split: Int[ArrayLike, ""]
    length: Int[ArrayLike, ""]
    offset: Int[ArrayLike, ""]
    first: Int[ArrayLike, ""]
    num_examples: Int[ArrayLike, ""]


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Scored:
    """The tokens and examples that the metrics count.

    Attributes:
      target: the label is predicted by the model, end token included.
      answer: the label belongs to the scored answer, end token excluded.
      counted: the example is counted; the same for all its tokens.
      attributes: of the example, the same for all its tokens; None without `evaluate.attributes`.
    """

    target: Bool[Array, "b l"]
    answer: Bool[Array, "b l"]
    counted: Bool[Array, "b l"]
    attributes: Int[Array, "b l a"] | None


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BatchSums:
    """Sums over examples.

    Attributes:
      metrics: by the name of the metric.
      not_finite: examples with logits that are not finite.
    """

    metrics: dict[str, Sums]
    not_finite: Int[Array, "*r"]


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Measurement:
    """The result of one program call, or of a whole evaluation point.

    Attributes:
      overlap: examples whose inputs training can draw.
      scale_ratio: of each input encoding, its root mean square relative to the token embedding's.
    """

    sums: BatchSums
    overlap: Int[Array | np.ndarray, "*r"]
    scale_ratio: Float[Array, "*r e"]

    def __add__(self, other: "Measurement") -> "Measurement":
        sums = jax.tree.map(np.add, self.sums, other.sums)
        overlap = np.add(self.overlap, other.overlap)
        # A ratio is no sum: that of the last batch stays.
        return Measurement(sums, overlap, other.scale_ratio)


def measure_batch(
    setup: Setup,
    bound: int,
    params: PyTree,
    which: Examples,
    examples: Example,
) -> Measurement:
    """Evaluate one batch of examples of one length, for every member.

    Args:
      bound: static; the examples have the shapes of this length.
    """
    evaluate = setup.run.evaluate
    index = which.first + jnp.arange(evaluate.batch_size)
    is_counted = index < which.num_examples
    keys = evaluation_data.keys(which.split, which.length, index)
    can_be_trained = evaluation_data.can_be_trained(setup, examples, which.length)
    overlap = (can_be_trained & is_counted).sum()

    lay_out = functools.partial(setup.layout, setup.task)
    rows = jax.vmap(lay_out)(examples)
    position_keys = stream_keys(keys, EVALUATED_POSITIONS)
    rows, streams = batches.add_positions(
        setup, rows, position_keys, train=False, offset=which.offset
    )
    # All leaves are [B, L], so that micro-batches can select rows and cut them.
    counted = jnp.broadcast_to(is_counted[:, None], rows.labels.shape)
    attributes = _attributes(setup, examples, rows.labels.shape)
    scored = Scored(rows.target, rows.answer, counted, attributes)
    batch = ModelBatch(streams, rows.labels, scored)
    shortest_example = setup.num_tokens(min(evaluate.all_lengths))
    fewest_tokens = sum(shortest_example.values())

    def of_member(params: PyTree) -> Measurement:
        model = setup.model(params)
        part = setup.devices.share(batch)
        num_tokens = rows.labels.shape[1]
        sums_of_part = functools.partial(_sums, setup, model, num_tokens, bound)
        # A bound from below on the tokens of an example: no shorter shape is compiled.
        sums = setup.kernels.summed(sums_of_part, part, least=fewest_tokens)
        sums = setup.devices.total(sums)
        # From all examples, because a root mean square is no sum of its parts.
        scale_ratio = _scale_ratio(model, batch.streams)
        return Measurement(sums, overlap, scale_ratio)

    num_members = len(jax.tree.leaves(params)[0])
    return setup.devices.over_members(of_member, num_members)(params)


def _attributes(
    setup: Setup, examples: Example, shape: tuple[int, ...]
) -> Int[Array, "b l a"] | None:
    """The selected attributes of each example, at all its tokens."""
    names = setup.run.evaluate.attributes
    if not names:
        return None
    values = []
    for name in names:
        attribute = setup.task.attributes[name]
        value_of = functools.partial(attribute.value, setup.task)
        values.append(jax.vmap(value_of)(examples))
    by_example = jnp.stack(values, axis=1)  # [B, A]
    return jnp.broadcast_to(by_example[:, None], (*shape, len(names)))  # [B, L, A]


def _sums(
    setup: Setup, model: Transformer, num_tokens: int, bound: int, batch: ModelBatch
) -> BatchSums:
    """The sums of some examples.

    Args:
      num_tokens: tokens of the longest of the whole batch, which has the shapes of length `bound`.
    """
    names = setup.run.evaluate.attributes
    largest = [setup.task.attributes[name].largest(setup.task, bound) for name in names]
    logits = model(batch.streams)
    scored: Scored = batch.scores
    target, counted = scored.target, scored.counted
    is_finite = jnp.isfinite(logits).all(axis=-1)  # an argmax over NaN would be token 0
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.labels)
    index = jnp.cumsum(target, axis=1) - 1  # from 0 at the first target token; -1 before it
    num_targets = target.sum(axis=1, keepdims=True)
    is_last = index == num_targets - 1
    attributes = None
    if scored.attributes is not None:
        attributes = scored.attributes[:, 0]  # the same at all tokens of an example
    predictions = Predictions(
        logits=logits,
        labels=batch.labels,
        target=target,
        answer=scored.answer,
        is_end=setup.layout.end_token & is_last & target,
        index=index,
        right=is_finite & (logits.argmax(axis=-1) == batch.labels),
        losses=jnp.where(target & counted, losses, 0),  # other tokens have no meaningful label
        counted=counted[:, 0],
        num_tokens=num_tokens,
        attributes=attributes,
        largest_attribute=max(largest, default=0),
    )
    metrics = {}
    for metric in measured_for(setup.task, names):
        metrics[metric.name] = metric.sums(predictions)
    # The logits of other tokens are not measured.
    has_finite_target = (is_finite | ~target).all(axis=1)
    not_finite = (~has_finite_target & counted[:, 0]).sum()
    return BatchSums(metrics, not_finite)


def _scale_ratio(model: Transformer, streams: Streams) -> Float[Array, "e"]:
    """RMS of each stack's input encodings relative to the scaled token embedding."""

    def rms(x: Array, is_counted: Bool[Array, "..."] | None = None) -> Array:
        mean_square = jnp.square(x).mean(where=is_counted)
        return jnp.sqrt(mean_square)

    ratios = []
    for name, stack in model.stacks.items():
        stream = streams[name]
        table = stack.embedding.embedding[...]
        token_rms = rms(table * stack.embedding_scale)
        # [N, B|1, L, ...]: at the input all layers read the first of the N rows.
        of_first_layer = tuple(positions[:1] for positions in stream.positions)
        for embedding in stack.position_embeddings(of_first_layer):
            # Padding has position 0, which is not counted. Examples may share one row of positions.
            mask = stream.mask
            if len(embedding) == 1:
                mask = mask.any(axis=0, keepdims=True)
            ratios.append(rms(embedding, mask[..., None]) / token_rms)
    if not ratios:
        return jnp.zeros(0)
    return jnp.stack(ratios)
