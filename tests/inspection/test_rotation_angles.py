import numpy as np
import pytest

from pe_lab.inspection import rotation_angles
from tests import reference
from tests.inspection import tables

KERNEL = reference.entry("diag_rope_hd64_base1e4")["value"]


def test_the_mean_cosine_and_the_bound_are_the_reference():
    w, lags = tables.frequencies(64), np.asarray(KERNEL["lags"])
    reference.assert_agrees(
        rotation_angles.mean_cosine(w, lags), "diag_rope_hd64_base1e4", KERNEL["kernel_mean_cos"]
    )
    reference.assert_agrees(
        rotation_angles.decay_bound(w, lags),
        "diag_rope_hd64_base1e4",
        KERNEL["abel_bound_mean_absS"],
    )


def test_the_bound_bounds_the_kernel():
    w, lags = tables.frequencies(64), np.arange(1, 5000)
    assert (
        np.abs(rotation_angles.mean_cosine(w, lags)) <= rotation_angles.decay_bound(w, lags)
    ).all()


@pytest.mark.parametrize(
    ("key", "count"), reference.entry("diag_rope_pairs_completing_a_period")["value"].items()
)
def test_so_many_pairs_come_round(key, count):
    width, base, length = (int(part.lstrip("hdbaseL")) for part in key.split(","))
    assert rotation_angles.completed(tables.frequencies(width, base), length).sum() == count


def test_a_period_that_just_fits_is_complete_and_what_does_not_turn_is_too():
    w = np.asarray([2 * np.pi / 8, 2 * np.pi / 8.01, 0.0, -2 * np.pi / 7])
    assert rotation_angles.completed(w, 8).tolist() == [True, False, True, True]
