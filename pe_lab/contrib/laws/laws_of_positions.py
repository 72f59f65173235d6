"""Laws about what an encoding reads of positions, as functions that raise AssertionError."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from pe_lab.contrib.laws import standalone
from pe_lab.contrib.laws.models import assert_close, assert_differs
from pe_lab.contrib.laws.subjects import (
    BATCH,
    LENGTH,
    SOURCE_LENGTH,
    UNEVEN,
    Subject,
    default_source,
    default_tokens,
    in_,
)
from pe_lab.encodings.base import Tokens


def positions_are_read_not_indices(subject: Subject) -> None:
    """Uneven gaps between positions change the logits exactly if the encoding reads positions."""
    base, uneven = subject.logits(), subject.logits(positions=UNEVEN[:, :1])
    if subject.requirements.reads_positions:
        assert_differs(base, uneven)
    else:
        assert_close(base, uneven, 0)


def shift_is_ignored_if_relative(subject: Subject) -> None:
    """A shift of all positions changes the logits exactly if the encoding is not relative.

    Both streams are shifted. There are several shifts, because a wrong rotation can be right at
    one: 37 is nearly six whole turns.
    """
    base, largest = subject.logits(), subject.bound - LENGTH
    shifts = sorted({min(shift, largest) for shift in (1, 4, 35, 37)})
    if subject.requirements.relative and subject.max_positions is None:
        shifts.append(-35)
    for shift in shifts:
        source = subject.source(positions=np.arange(SOURCE_LENGTH)[None, None] + shift)
        shifted = subject.logits(positions=np.arange(LENGTH)[None, None] + shift, source=source)
        if subject.requirements.relative:
            assert_close(base, shifted, 1e-4)
    if not subject.requirements.relative:
        assert_differs(base, shifted)


def integer_types_of_positions_are_equal(subject: Subject) -> None:
    """Unsigned and narrow positions give the results of int32 positions, to the bit."""
    expected = outside_of_a_model(subject, jnp.int32)
    for dtype in (jnp.uint8, jnp.int16, jnp.uint32):
        assert_close(expected, outside_of_a_model(subject, dtype), 0)


def outside_of_a_model(subject: Subject, dtype: Any) -> np.ndarray:
    """The embedding, or the attention, of descending positions of a type."""
    encoding, model = subject.encoding, subject.model
    axes = encoding.requirements.num_axes
    descending = jnp.arange(LENGTH, dtype=dtype)[None, ::-1]
    positions = descending if axes == 1 else jnp.stack([descending] * axes, axis=-1)
    if encoding.requirements.site == "input":
        return np.asarray(encoding.embed(positions))
    x = jnp.asarray(standalone.numbers(1, LENGTH, model.width))
    heads = x.reshape(1, LENGTH, model.num_heads, -1)
    slots = jnp.arange(LENGTH)[None]
    Q, K = (
        Tokens(positions, slots, jnp.asarray([LENGTH]), features, preceding=slots)
        for features in encoding.features(x, positions)
    )
    mask = slots[:, None] <= slots[..., None]
    return np.asarray(standalone.attend(encoding, heads, heads, heads, Q, K, mask[None]))


@in_("encoder_decoder")
def between_two_streams_both_positions_are_read(subject: Subject) -> None:
    """A shift of one stream alone changes the logits of an encoding that reads positions, if it
    acts in cross-attention or is not relative.
    """
    base = subject.logits()
    of_target = subject.logits(positions=np.arange(LENGTH)[None, None] + 3)
    of_source = subject.logits(
        source=subject.source(positions=np.arange(SOURCE_LENGTH)[None, None] + 3)
    )
    for shifted in (of_target, of_source):
        if subject.requirements.reads_positions and (
            subject.acts_across or not subject.requirements.relative
        ):
            assert_differs(base, shifted)
        else:
            assert_close(base, shifted, 1e-4)


@in_("decoder", "encoder_decoder")
def order_is_seen(subject: Subject) -> None:
    """Two swapped tokens before the last one change its logits."""
    tokens = default_tokens()
    tokens = tokens.at[:, 4].set(3).at[:, 5].set(8)
    swapped = tokens.at[:, 4].set(8).at[:, 5].set(3)
    assert_differs(subject.logits(tokens)[:, 6], subject.logits(swapped)[:, 6])


@in_("encoder", "encoder_decoder")
def an_encoder_sees_order_through_positions_alone(subject: Subject) -> None:
    """Permuting an encoder's tokens changes the logits exactly if the encoding reads positions."""
    if subject.architecture == "encoder":
        order, tokens = jnp.asarray([3, 0, 6, 1, 2, 4, 5]), default_tokens()
        logits, permuted = subject.logits(tokens)[:, order], subject.logits(tokens[:, order])
    else:
        order, tokens = jnp.asarray([3, 0, 5, 1, 2, 4]), default_source()
        logits, permuted = (
            subject.logits(source=subject.source(tokens)),
            subject.logits(source=subject.source(tokens[:, order])),
        )
    if subject.requirements.reads_positions:
        assert_differs(logits, permuted)
    else:
        assert_close(logits, permuted)


def last_two_positions_differ(subject: Subject) -> None:
    """At the largest positions, a step of one changes the logits unless the encoding is coarse."""
    last = np.arange(subject.bound - LENGTH, subject.bound)[None, None]
    before = last.copy()
    before[..., -1] = subject.bound - 2
    if subject.requirements.reads_positions and not subject.requirements.coarse:
        assert_differs(
            subject.logits(positions=last)[:, -1], subject.logits(positions=before)[:, -1]
        )


def beyond_its_positions_there_is_nothing(subject: Subject) -> None:
    """A position outside the declared range, such as -1, gives NaN and no row of the table."""
    if subject.max_positions is None:
        return
    for outside in (subject.max_positions, -1):
        positions = np.append(np.arange(LENGTH - 1), outside)[None, None]
        assert np.isnan(subject.logits(positions=positions)[:, -1]).all(), (
            "a position outside the range got an embedding"
        )


def negative_positions_are_positions_too(subject: Subject) -> None:
    """At negative positions logits are finite, and a step of one changes them.

    The step may have no effect for a coarse encoding.
    """
    if subject.max_positions is not None:
        return
    up_to_zero = np.arange(1 - LENGTH, 1)[None, None]
    logits = subject.logits(positions=up_to_zero)
    for values in (logits, subject.logits(positions=up_to_zero - 40)):
        assert np.isfinite(values).all(), "not finite at negative positions"
    before = up_to_zero.copy()
    before[..., -1] -= 1
    if subject.requirements.reads_positions and not subject.requirements.coarse:
        assert_differs(logits[:, -1], subject.logits(positions=before)[:, -1])


def one_row_equals_a_row_for_each(subject: Subject) -> None:
    """One row of positions for the batch gives the same logits as that row for each example."""
    rows = np.broadcast_to(np.arange(LENGTH), (1, BATCH, LENGTH))
    source = subject.source(
        positions=np.broadcast_to(np.arange(SOURCE_LENGTH), (1, BATCH, SOURCE_LENGTH))
    )
    assert_close(subject.logits(), subject.logits(positions=rows, source=source))


def a_row_of_positions_is_of_its_own_example(subject: Subject) -> None:
    """Examples with rows of their own have the logits that each example has alone."""
    tokens, of_source = default_tokens(), default_source()
    together = subject.logits(tokens, UNEVEN)
    for example in range(BATCH):
        one = slice(example, example + 1)
        source = subject.source(of_source[one])
        alone = subject.logits(tokens[one], UNEVEN[:, one], source=source)
        assert_close(together[one], alone)
