import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.encodings.binary import Binary
from tests import reference
from tests.encodings import codes

SENSITIVE = {"num_bits": (5, 7), "signed": (False, True), "lift": ("pad", "project")}
REFUSALS = [
    (dict(num_bits=0), "1 to 30 bits, got 0"),
]


def binary(**arguments):
    return Binary(width=16, rngs=codes.rngs(), **arguments)


def test_agrees_with_reference():
    reference.assert_agrees(codes.embed(binary(num_bits=4), range(16)), "seed_binary_d4")


@pytest.mark.slow
def test_signed_bits_have_one_norm():
    c = codes.embed(binary(num_bits=5, signed=True), range(32))
    np.testing.assert_array_equal((c**2).sum(axis=1), np.full(32, 5))
    np.testing.assert_array_equal(c[6], [-1, 1, 1, -1, -1])


def test_beyond_its_bits_there_is_no_code():
    encoding = binary(num_bits=3)
    c = codes.embed(encoding, [7, 8, -1])
    assert encoding.requirements.max_positions == 8
    np.testing.assert_array_equal(c[0], [1, 1, 1])
    assert np.isnan(c[1:]).all()


@pytest.mark.slow
def test_more_bits_than_channels_are_refused_unless_projected():
    with pytest.raises(
        ValueError, match="Binary has 16 channels and the width is 8: take fewer, or lift='project'"
    ):
        Binary(width=8, rngs=codes.rngs())
    assert Binary(width=8, lift="project", rngs=codes.rngs()).scaled_embedding(
        jnp.asarray([[1]])
    ).shape == (1, 1, 8)
