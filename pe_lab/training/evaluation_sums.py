"""The compiled evaluation: all metrics of a length from one forward pass.

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

from pe_lab.model.streams import Stream
from pe_lab.model.transformer import Transformer
from pe_lab.tasks.base import Example
from pe_lab.training import batches, devices, evaluation_data
from pe_lab.training.batches import ModelBatch
from pe_lab.training.random_keys import POSITIONS, stream_keys
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
    """

    target: Bool[Array, "b l"]
    answer: Bool[Array, "b l"]
    counted: Bool[Array, "b l"]


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Sums:
    """Counts and sums over examples.

    Attributes:
      exact_match, exact_match_without_end, answer_exact_match: examples whose target, target
        without its end token, or scored answer is right.
      tokens_right, tokens: tokens of scored answers.
      losses, targets: sum of the losses of target tokens, and their number.
      first_error: examples whose first wrong target token has this index.
      not_finite: examples with logits that are not finite.
      position_losses, position_targets: `losses` and `targets` by the token's index in its target;
        None if the task does not report them.
    """

    exact_match: Int[Array, "*r"]
    exact_match_without_end: Int[Array, "*r"]
    answer_exact_match: Int[Array, "*r"]
    tokens_right: Int[Array, "*r"]
    tokens: Int[Array, "*r"]
    losses: Float[Array, "*r"]
    targets: Int[Array, "*r"]
    first_error: Int[Array, "*r l"]
    not_finite: Int[Array, "*r"]
    position_losses: Float[Array, "*r l"] | None
    position_targets: Int[Array, "*r l"] | None


@no_type_check  # JAX rebuilds pytrees with leaves of any type
@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Measurement:
    """The result of one program call, or of a whole evaluation point.

    Attributes:
      overlap: examples whose inputs training can draw.
      scale_ratio: of each input encoding, its root mean square relative to the token embedding's.
    """

    sums: Sums
    overlap: Int[Array | np.ndarray, "*r"]
    scale_ratio: Float[Array, "*r e"]

    def __add__(self, other: "Measurement") -> "Measurement":
        sums = jax.tree.map(np.add, self.sums, other.sums)
        return Measurement(sums, np.add(self.overlap, other.overlap), other.scale_ratio)


def measure_batch(
    setup: Setup,
    bound: int,
    params: PyTree,
    which: Examples,
    data: PyTree = None,
    frozen: Example | None = None,
) -> Measurement:
    """Evaluate one batch of examples of one length, for every member.

    Args:
      bound: static; examples are drawn in the shapes of this length.
      data: the split of the task's data.
      frozen: the batch's examples; None: they are drawn.
    """
    evaluate = setup.run.evaluate
    index = which.first + jnp.arange(evaluate.batch_size)
    is_counted = index < which.num_examples
    keys = evaluation_data.keys(which.split, which.length, index)
    examples = frozen
    if examples is None:
        task, rule = setup.evaluated_task, setup.split_rule
        examples = evaluation_data.sample(task, rule, keys, which.length, bound, data)
    can_be_trained = evaluation_data.can_be_trained(setup, examples, which.length)
    overlap = (can_be_trained & is_counted).sum()

    # Drawn or read, examples enter the same program from here on, which gives equal digits.
    examples = jax.lax.optimization_barrier(examples)
    rows = jax.vmap(functools.partial(setup.layout, setup.task))(examples)
    position_keys = stream_keys(keys, POSITIONS)
    rows, stream, source = batches.add_positions(
        setup, rows, position_keys, train=False, offset=which.offset
    )
    counted = jnp.broadcast_to(is_counted[:, None], rows.labels.shape)
    scored = Scored(rows.target, rows.answer, counted)
    batch = ModelBatch(stream, source, rows.labels, scored)
    least = sum(setup.num_tokens(min(evaluate.all_lengths)).values())

    def of_member(params: PyTree) -> Measurement:
        model = setup.model(params)
        part = devices.share(batch, setup.batch_devices)
        num_places = rows.labels.shape[1]
        sums_of_part = functools.partial(_sums, setup, model, num_places)
        sums = setup.kernels.summed(sums_of_part, part, least=least)
        sums = devices.total(sums, setup.batch_devices)
        return Measurement(sums, overlap, _scale_ratio(model, batch.streams))

    num_members = len(jax.tree.leaves(params)[0])
    return setup.over_members(of_member, num_members)(params)


def _sums(setup: Setup, model: Transformer, num_places: int, batch: ModelBatch) -> Sums:
    """The sums of some examples; `num_places` tokens are in the longest of the whole batch."""
    logits = model(*batch.streams)
    scored: Scored = batch.scores
    target, counted = scored.target, scored.counted
    is_token = target & counted
    is_finite = jnp.isfinite(logits).all(axis=-1)  # an argmax over NaN would be token 0
    right = is_finite & (logits.argmax(axis=-1) == batch.labels)
    losses = optax.softmax_cross_entropy_with_integer_labels(logits, batch.labels)
    losses = jnp.where(is_token, losses, 0)  # the labels of other tokens mean nothing

    place = jnp.cumsum(target, axis=1) - 1  # index of a token in its target
    is_end = setup.layout.end_token & (place == target.sum(axis=1, keepdims=True) - 1)
    without_end = target & ~is_end
    wrong_at = jnp.where(target & ~right, place, num_places).min(axis=1)
    is_first_error = wrong_at[:, None] == jnp.arange(num_places)[None]

    example_counted = counted[:, 0]
    is_scored = scored.answer & counted
    has_finite_target = (is_finite | ~target).all(axis=1)
    position_losses = position_targets = None
    if setup.task.is_text:
        sum_by_place = functools.partial(
            jax.ops.segment_sum, segment_ids=jnp.maximum(place, 0).ravel(), num_segments=num_places
        )
        position_losses = sum_by_place(losses.ravel())
        position_targets = sum_by_place(is_token.astype(jnp.int32).ravel())
    return Sums(
        exact_match=_count_all(right, target, example_counted),
        exact_match_without_end=_count_all(right, without_end, example_counted),
        answer_exact_match=_count_all(right, scored.answer, example_counted),
        tokens_right=(right & is_scored).sum(),
        tokens=is_scored.sum(),
        losses=losses.sum(),
        targets=is_token.sum(),
        first_error=(is_first_error & example_counted[:, None]).sum(axis=0),
        not_finite=(~has_finite_target & example_counted).sum(),
        position_losses=position_losses,
        position_targets=position_targets,
    )


def _count_all(
    right: Bool[Array, "b l"], tokens: Bool[Array, "b l"], counted: Bool[Array, "b"]
) -> Int[Array, ""]:
    """Counted examples that are right at all these tokens."""
    all_right = (right | ~tokens).all(axis=1)
    return (all_right & counted).sum()


def _scale_ratio(model: Transformer, streams: tuple[Stream, ...]) -> Float[Array, "e"]:
    """RMS of each stack's input encodings relative to the scaled token embedding."""

    def rms(x: Array) -> Array:
        return jnp.sqrt(jnp.square(x).mean())

    ratios = []
    for stack, stream in zip(model.stacks.values(), reversed(streams), strict=True):
        token_rms = rms(stack.embedding.embedding[...] * stack.embedding_scale)
        first_row = tuple(positions[:1] for positions in stream.positions)
        embeddings = stack.position_embeddings(first_row)
        ratios += [rms(embedding) / token_rms for embedding in embeddings]
    return jnp.stack(ratios) if ratios else jnp.zeros(0)
