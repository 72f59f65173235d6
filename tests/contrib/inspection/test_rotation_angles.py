import numpy as np
import pytest

from pe_lab.contrib.inspection import rotation_angles
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from tests import reference
from tests.contrib.inspection import tables


@pytest.mark.parametrize(
    ("key", "count"), reference.entry("diag_rope_pairs_completing_a_period")["value"].items()
)
def test_so_many_pairs_come_round(key, count):
    width, base, length = (int(part.lstrip("hdbaseL")) for part in key.split(","))
    assert rotation_angles.completes_period(tables.frequencies(width, base), length).sum() == count


def test_a_period_that_just_fits_is_complete_and_what_does_not_turn_is_too():
    w = np.asarray([2 * np.pi / 8, 2 * np.pi / 8.01, 0.0, -2 * np.pi / 7])
    assert rotation_angles.completes_period(w, 8).tolist() == [True, False, True, True]


def test_positions_that_are_not_evenly_spaced_have_no_angle_per_position():
    scheme = {"name": "randomized", "maximum": 64}
    spread = UntrainedEncoding({"name": "rope"}, 16, width=16, num_heads=2, positions=scheme)
    assert rotation_angles.frequencies(spread) is None
    even = UntrainedEncoding({"name": "rope"}, 16, width=16, num_heads=2)
    angles = rotation_angles.frequencies(even)
    np.testing.assert_allclose(angles[0], tables.frequencies(8), atol=1e-5)


def test_a_sum_of_rotations_has_no_angle_per_position():
    """Its steps differ, so that products of one step say nothing of far distances."""
    fope = UntrainedEncoding({"name": "fope"}, 16, width=16, num_heads=2)
    assert rotation_angles.frequencies(fope) is None
