"""Packing of several examples into one context, against rows that are written out."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.tasks.batch import Batch, pack, packed

# Four examples of at most three tokens; padding is -1 in the tokens and labels.
MASK = [[1, 1, 0], [1, 1, 1], [1, 0, 0], [1, 1, 0]]
TOKENS = [[10, 11, -1], [20, 21, 22], [30, -1, -1], [40, 41, -1]]
LABELS = [[11, 12, -1], [21, 22, 23], [31, -1, -1], [41, 42, -1]]
TARGET = [[0, 1, 0], [0, 1, 1], [1, 0, 0], [0, 1, 0]]
ANSWER = [[0, 1, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0]]
PARTS = [[0, 1, -1], [0, 1, 1], [0, -1, -1], [0, 1, -1]]
# Two axes of a structure: the example and the index in the example.
AXES = [[[example, index] for index in range(3)] for example in range(4)]


@pytest.fixture
def batch() -> Batch:
    return Batch(
        tokens=jnp.array(TOKENS),
        mask=jnp.array(MASK, bool),
        labels=jnp.array(LABELS),
        target=jnp.array(TARGET, bool),
        answer=jnp.array(ANSWER, bool),
        structure={"parts": jnp.array(PARTS), "axes": jnp.array(AXES)},
    )


@pytest.fixture
def batch_with_source(batch: Batch) -> Batch:
    """The sources have other lengths than the targets."""
    return dataclasses.replace(
        batch,
        source_tokens=jnp.array(TOKENS)[::-1],
        source_mask=jnp.array(MASK, bool)[::-1],
        source_structure={"parts": jnp.array(PARTS)[::-1]},
    )


def rows(values) -> list:
    return np.asarray(values).tolist()


@pytest.mark.slow
def test_tokens_of_a_context_follow_each_other_and_padding_comes_last(batch):
    context = pack(batch, 2)
    assert rows(context.tokens) == [[10, 11, 20, 21, 22, -1], [30, 40, 41, -1, -1, -1]]
    assert rows(context.mask) == [[True] * 5 + [False], [True] * 3 + [False] * 3]


@pytest.mark.slow
def test_labels_and_label_masks_stay_with_their_tokens(batch):
    context = pack(batch, 2)
    assert rows(context.labels) == [[11, 12, 21, 22, 23, -1], [31, 41, 42, -1, -1, -1]]
    assert rows(context.target.astype(int)) == [[0, 1, 0, 1, 1, 0], [1, 0, 1, 0, 0, 0]]
    assert rows(context.answer.astype(int)) == [[0, 1, 0, 1, 0, 0], [0, 0, 1, 0, 0, 0]]


def test_structures_with_and_without_axes_stay_with_their_tokens(batch):
    structure = pack(batch, 2).structure
    assert rows(structure["parts"]) == [[0, 1, 0, 1, 1, -1], [0, 0, 1, -1, -1, -1]]
    assert rows(structure["axes"][0]) == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2], [0, 2]]
    assert rows(structure["axes"][1, :3]) == [[2, 0], [3, 0], [3, 1]]


def test_segments_count_the_examples_of_a_context_from_1(batch):
    assert rows(pack(batch, 2).segments) == [[1, 1, 2, 2, 2, 0], [1, 2, 2, 0, 0, 0]]


@pytest.mark.slow
def test_a_context_can_hold_all_examples(batch):
    context = pack(batch, 4)
    assert rows(context.tokens) == [[10, 11, 20, 21, 22, 30, 40, 41, -1, -1, -1, -1]]
    assert rows(context.segments) == [[1, 1, 2, 2, 2, 3, 4, 4, 0, 0, 0, 0]]


@pytest.mark.slow
def test_contexts_of_one_example_are_the_examples_as_segment_1(batch):
    context = pack(batch, 1)
    assert rows(context.tokens) == TOKENS
    assert rows(context.labels) == LABELS
    assert rows(context.segments) == MASK


def test_without_a_source_a_context_has_none(batch):
    context = pack(batch, 2)
    assert context.source_tokens is None
    assert context.source_mask is None
    assert context.source_structure is None
    assert context.source_segments is None


def test_the_side_of_an_encoder_has_the_structure_of_the_source(batch, batch_with_source):
    assert batch.source is None
    assert batch_with_source.source.structure is batch_with_source.source_structure
    assert batch_with_source.source.tokens is batch_with_source.source_tokens


def test_a_source_is_packed_by_its_own_mask(batch_with_source):
    context = pack(batch_with_source, 2)
    assert rows(context.source_tokens) == [[40, 41, 30, -1, -1, -1], [20, 21, 22, 10, 11, -1]]
    assert rows(context.source_mask.astype(int)) == [[1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0]]
    assert rows(context.source_segments) == [[1, 1, 2, 0, 0, 0], [1, 1, 1, 2, 2, 0]]
    parts = context.source_structure["parts"]
    assert rows(parts) == [[0, 1, 0, -1, -1, -1], [0, 1, 1, 0, 1, -1]]
    # The target is packed as without a source.
    assert rows(context.tokens) == [[10, 11, 20, 21, 22, -1], [30, 40, 41, -1, -1, -1]]


@pytest.mark.slow
def test_padding_inside_an_example_moves_to_the_end():
    values = jnp.array([[1, -1, 2], [-1, 3, -1]])
    assert rows(packed(values, values > 0, 2)) == [[1, 2, 3, -1, -1, -1]]
