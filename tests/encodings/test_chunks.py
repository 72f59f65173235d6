import numpy as np

from pe_lab.encodings.chunks import Chunks
from tests.encodings import codes
from tests.models import ARCHITECTURES

ARGUMENTS = {"size": 5}
# The swapped keys are in a chunk before the last token's.
EXCUSED = [({"size": 3}, ARCHITECTURES, "order_is_seen", "0.0")]
SENSITIVE = {"size": (5, 3)}
REFUSALS = [
    (dict(size=0), "at least 1, got 0"),
]


def test_a_query_sees_the_positions_of_its_own_chunk():
    t = codes.tokens([0, 2, 3, 5, 6])
    expected = [[1, 1, 0, 0, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]]
    np.testing.assert_array_equal(Chunks(size=3).mask(t, t)[0, 0], np.asarray(expected, bool))


def test_a_shift_by_its_size_changes_nothing_and_another_does():
    encoding = Chunks(size=3)
    base, by_size, by_one = (
        encoding.mask(codes.tokens(np.arange(6) + s), codes.tokens(np.arange(6) + s))
        for s in (0, 3, 1)
    )
    np.testing.assert_array_equal(base, by_size)
    assert (base != by_one).any()


def test_the_position_before_zero_is_of_another_chunk():
    t = codes.tokens([-1, 0])
    assert Chunks(size=3).mask(t, t)[0, 0].tolist() == [[True, False], [False, True]]
