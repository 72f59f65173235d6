"""What layers see of a stream: padded tokens have the position of a valid one."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.requirements import Requirements
from pe_lab.model.decode import extend, start
from pe_lab.model.streams import Stream, at_valid_positions, view_of
from tests import models

VALID = jnp.asarray([[True, True, True, False], [True, False, False, False]])


def test_padded_tokens_are_at_the_last_valid_position_of_their_example():
    positions = jnp.asarray([[[3, 4, 9, 0], [5, 7, 8, 9]], [[1, 2, 3, 4], [6, 0, 0, 0]]])
    expected = [[[3, 4, 9, 9], [5, 5, 5, 5]], [[1, 2, 3, 3], [6, 6, 6, 6]]]
    np.testing.assert_array_equal(at_valid_positions(positions, VALID), expected)


def test_each_axis_of_a_padded_token_is_that_of_the_last_valid_one():
    positions = jnp.asarray([[[[0, 0], [0, 1], [1, 5], [7, 7]], [[2, 3], [0, 0], [0, 0], [0, 0]]]])
    expected = [[[[0, 0], [0, 1], [1, 5], [1, 5]], [[2, 3]] * 4]]
    np.testing.assert_array_equal(at_valid_positions(positions, VALID), expected)


def test_one_row_for_the_batch_stays_as_it_is():
    """Every position of it belongs to a valid token of a longer example."""
    row = jnp.asarray([[[0, 2, 4, 6]]])
    assert at_valid_positions(row, VALID) is row


def test_an_example_without_tokens_is_at_its_first_position():
    positions = jnp.asarray([[[5, 6], [7, 8]]])
    empty = jnp.asarray([[True, True], [False, False]])
    np.testing.assert_array_equal(at_valid_positions(positions, empty), [[[5, 6], [7, 7]]])


SEEN: list[np.ndarray] = []


class Sees(AttentionEncoding):
    """Notes the positions that its hooks receive."""

    requirements = Requirements(cross=True)

    def features(self, x, positions):
        note(positions)
        return None, None

    def mask(self, Q, K):
        note(Q.positions)
        note(K.positions)


def note(positions):
    if not isinstance(positions, jax.core.Tracer):  # an empty cache is made by tracing
        SEEN.append(np.asarray(positions))


def seen_by_hooks(run):
    SEEN.clear()
    run()
    return {int(position) for positions in SEEN for position in positions.ravel()}


@pytest.mark.slow
@pytest.mark.parametrize("architecture", models.ARCHITECTURES)
def test_no_hook_sees_a_position_that_no_token_has(architecture):
    """Padding has position 99."""
    spec = dict(name="tests.model.test_terms:Sees")
    if architecture == "encoder_decoder":
        spec["stacks"] = ("encoder", "decoder", "cross")
    model = models.build(spec, architecture=architecture, num_layers=1)
    mask = models.prefix([3, 5], 5)
    positions = jnp.where(mask, jnp.arange(5)[None] + 10, 99)[None]
    stream = models.stream(models.random_tokens(2, 5, size=9), positions, mask)
    streams = dict.fromkeys(model.stacks, stream)
    assert seen_by_hooks(lambda: model(streams)) == {10, 11, 12, 13, 14}


@pytest.mark.slow
def test_while_decoding_padded_queries_are_at_the_slot_of_the_last_token():
    model = models.build(dict(name="tests.model.test_terms:Sees"), num_layers=1)
    tokens, positions = models.random_tokens(2, 3), jnp.arange(4)[None, None] + 10
    cache = start(model, (positions,), 2)
    mask = models.prefix([3, 1], 3)
    assert seen_by_hooks(lambda: extend(model, cache, tokens, mask)) == {10, 11, 12, 13}
    np.testing.assert_array_equal(SEEN[0], [[10, 11, 12], [10, 10, 10]])


def test_a_view_has_int32_positions_of_unsigned_ones():
    positions = jnp.arange(3, dtype=jnp.uint8)[None, None]
    stream = Stream(jnp.zeros((1, 3), int), (positions,), jnp.ones((1, 3), bool))
    (viewed,) = view_of(stream).positions
    assert viewed.dtype == jnp.int32
    assert viewed.tolist() == [[[0, 1, 2]]]
