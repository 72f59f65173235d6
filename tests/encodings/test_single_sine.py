import numpy as np

from pe_lab.encodings.single_sine import SingleSine
from tests import reference
from tests.encodings import codes

SENSITIVE = {"period": (8.0, 11.0)}
REFUSALS = [
    (dict(period=0.0), r"SingleSine's period must be above 0 .*, got 0"),
]


def sine(**arguments):
    return SingleSine(width=4, rngs=codes.rngs(), **arguments)


def test_agrees_with_reference():
    reference.assert_agrees(codes.embed(sine(period=8.0), range(10))[:, 0], "seed_single_sine")


def test_it_repeats_after_a_period_and_within_half_of_one():
    c = codes.embed(sine(period=8.0), [1, 9, 3])[:, 0]
    np.testing.assert_allclose(c, c[0], atol=1e-6)
