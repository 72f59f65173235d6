"""Parts of a model start from draws of their own, which other parts do not move."""

import jax
import numpy as np

from pe_lab.model.transformer import Transformer
from tests import models
from tests.model.small_inputs import everywhere
from tests.models import VOCABULARIES, build, params


def test_an_encodings_draws_do_not_move_another_encodings():
    alone, after = build("t5_bias").decoder, build("learned", "t5_bias").decoder
    assert (
        np.abs(
            alone.attention_encodings[0].table[...] - after.attention_encodings[0].table[...]
        ).max()
        > 0
    )  # its place is its stream
    np.testing.assert_array_equal(
        alone.blocks[1].attention.out.kernel[...], after.blocks[1].attention.out.kernel[...]
    )


def test_stacks_and_output_start_from_draws_of_their_own():
    """Equal shapes with equal values would be one key used twice."""
    drawn = [
        p
        for p in jax.tree.leaves(
            params(build("learned", everywhere("t5_bias"), architecture="encoder_decoder"))
        )
        if p.ndim == 2
    ]
    equal = [
        (a.shape, i, j)
        for i, a in enumerate(drawn)
        for j, b in enumerate(drawn[:i])
        if a.shape == b.shape and np.array_equal(a, b)
    ]
    assert not equal


def test_a_seed_is_a_backbone():
    one, same, other = (
        params(Transformer(models.settings(), VOCABULARIES["decoder"], key=jax.random.key(k)))
        for k in (0, 0, 1)
    )
    jax.tree.map(np.testing.assert_array_equal, one, same)
    assert np.abs(one["output"]["kernel"] - other["output"]["kernel"]).max() > 0.1
