"""Laws about the tokens that a token sees, as functions that raise AssertionError."""

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.contrib.laws import models
from pe_lab.contrib.laws.models import assert_close
from pe_lab.contrib.laws.subjects import (
    BATCH,
    LENGTH,
    SOURCE_LENGTH,
    Subject,
    default_source,
    default_tokens,
    in_,
)


@in_("decoder", "encoder_decoder")
def future_does_not_leak(subject: Subject) -> None:
    """The logits of a token do not depend on later tokens."""
    tokens = default_tokens()
    other = tokens.at[:, 5:].set((tokens[:, 5:] + 1) % 11)  # all later ones change
    assert_close(subject.logits(tokens)[:, :5], subject.logits(other)[:, :5], 0)


def padding_does_not_reach_valid_tokens(subject: Subject) -> None:
    """An example has the same logits alone, padded with tokens, and padded with NaN embeddings.

    Both streams are padded.
    """
    tokens, source_tokens = default_tokens(), default_source()
    mask, source_mask = (
        models.prefix([4] * BATCH, LENGTH),
        models.prefix([3] * BATCH, SOURCE_LENGTH),
    )
    positions = np.where(mask[:1], np.arange(LENGTH)[None], 0)[None]
    source_positions = np.where(source_mask[:1], np.arange(SOURCE_LENGTH)[None], 0)[None]

    def alone():
        return subject.logits(tokens[:, :4], source=subject.source(source_tokens[:, :3]))

    def padded(params=None):
        source = subject.source(source_tokens, source_positions, source_mask)
        return subject.logits(tokens, positions, mask, source=source, params=params)[:, :4]

    assert_close(alone(), padded())
    poisoned = jax.tree_util.tree_map_with_path(
        lambda path, p: p.at[-1].set(jnp.nan) if is_embedding(path) else p, subject.params
    )
    # The last symbol, whose embedding is NaN, is at padding alone.
    tokens = jnp.where(mask, jnp.minimum(tokens, 9), 10)
    source_tokens = jnp.where(source_mask, jnp.minimum(source_tokens, 7), 8)
    assert_close(alone(), padded(poisoned))


def is_embedding(path: tuple[object, ...]) -> bool:
    return str(path[1]) == "['embedding']"


def packed_segments_equal_separate_ones(subject: Subject) -> None:
    """Two examples in one context have the logits of each example alone.

    The second one is padded where it is alone. An encoding that reads lengths is left out.
    """
    if subject.requirements.reads_length:
        return
    tokens, of_source = default_tokens(), default_source()
    segments = jnp.asarray([[1, 1, 1, 1, 2, 2, 2]] * BATCH)
    source = subject.source(
        of_source,
        jnp.asarray([[[0, 1, 2, 0, 1, 2]]]),
        segments=jnp.asarray([[1, 1, 1, 2, 2, 2]] * BATCH),
    )
    packed = subject.logits(
        tokens, jnp.asarray([[[0, 1, 2, 3, 0, 1, 2]]]), segments=segments, source=source
    )
    assert_close(
        packed[:, :4], subject.logits(tokens[:, :4], source=subject.source(of_source[:, :3]))
    )
    second = jnp.pad(tokens[:, 4:], ((0, 0), (0, 1)))
    separate = subject.logits(
        second, mask=models.prefix([3] * BATCH, 4), source=subject.source(of_source[:, 3:])
    )
    assert_close(packed[:, 4:], separate[:, :3])


@in_("decoder", "encoder_decoder")
def prefill_equals_the_full_forward(subject: Subject) -> None:
    """The prompt's logits from a cache are those of a full forward pass.

    An encoding that reads lengths is left out, because the full forward pass is longer.
    """
    if subject.requirements.reads_length:
        return
    decoded = subject.decoded
    assert_close(decoded["full"][decoded["prompt"]], decoded["cached"][decoded["prompt"]])


@in_("decoder", "encoder_decoder")
def decoding_equals_the_full_forward(subject: Subject) -> None:
    """The answer's logits, token by token from a cache, are those of a full forward pass.

    An encoding that reads lengths is left out, because it sees the length grow.
    """
    if subject.requirements.reads_length:
        return
    decoded = subject.decoded
    assert_close(decoded["full"][decoded["answer"]], decoded["cached"][decoded["answer"]])
