import numpy as np

from pe_lab.encodings.sliding_window import SlidingWindow
from tests.encodings import codes

ARGUMENTS = {"size": 2}
SENSITIVE = {"size": (2, 5)}
REFUSALS = [
    (dict(size=0), "at least 1, got 0"),
]


def test_a_window_of_two_sees_itself_and_its_neighbours_by_position():
    t = codes.tokens([0, 1, 3, 4])
    expected = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    np.testing.assert_array_equal(
        SlidingWindow(size=2).mask(t, t)[0, 0], np.asarray(expected, bool)
    )
