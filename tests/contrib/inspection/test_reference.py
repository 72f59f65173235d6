"""The reference values of seven codes: 64 positions, a shift of 5."""

import numpy as np
import pytest

from pe_lab.contrib.inspection import linear_shift, similarity, table_statistics
from tests import reference
from tests.contrib.inspection import tables

LENGTH, SHIFT = 64, 5
LENGTHS = (64, 128, 256, 512, 1024)
CODES = {
    "diag_raw_index": tables.raw_index,
    "diag_normalized_index": None,  # the only one that the length changes
    "diag_binary16": tables.binary,
    "diag_single_sine_2pi/8": tables.single_sine,
    "diag_multi_sine_d16": tables.multi_sine,
    "diag_sinusoidal_d16": tables.sinusoidal,
    "diag_learned_normal0.02_seed0": tables.learned,
}


def code(name, count, length=None):
    """The first rows of an example's code; of `count` positions unless a length is given."""
    if CODES[name] is None:
        return np.arange(count)[:, None] / ((length or count) - 1)
    return CODES[name](np.arange(count))


def computed(name):
    E, far = code(name, LENGTH), code(name, 4 * LENGTH, LENGTH)
    largest = {n: np.abs(code(name, n)).max() for n in LENGTHS}
    same = {n: code(name, LENGTH, n) for n in LENGTHS}
    K = similarity.gram(E)
    curve = similarity.by_offset(K)
    residuals = {
        m: linear_shift.residual(far[:-SHIFT], far[SHIFT:], 2 * LENGTH, m)
        for m in ("linear", "orthogonal", "affine")
    }
    return {
        "uniqueness_min_dist": table_statistics.nearest(E),
        "colliding_pairs_tol1e-6rms": table_statistics.collisions(E),
        "colliding_pairs_bf16": table_statistics.collisions_in_bfloat16(E),
        "adjacent_equal_bf16_L4096": table_statistics.equal_neighbors(
            table_statistics.through_bfloat16(code(name, 4096))
        ),
        "alias_margin": table_statistics.alias_margin(E),
        "max_abs_by_L": {str(n): size for n, size in largest.items()},
        "bound_growth_exponent": table_statistics.growth(largest),
        "step1_by_L_same_positions": {
            str(n): table_statistics.steps(F).mean() for n, F in same.items()
        },
        "length_consistency": table_statistics.length_consistency(same),
        "code_drift_L_to_4L": table_statistics.drift(E, same[4 * LENGTH]),
        "step_max_over_median": table_statistics.step_ratio(E),
        "step_cv": table_statistics.step_variation(E),
        "coords_changed_max": table_statistics.coordinates_that_change(E),
        **{f"shift_{m}_residual": r for m, r in residuals.items()},
        "toeplitz_fraction": similarity.toeplitz_fraction(K),
        "kernel_symmetry_defect": similarity.symmetry_defect(K),
        "monotone_fraction": similarity.monotone_fraction(curve),
        "first_increase_lag": similarity.first_increase(curve),
        "half_decay_lag": similarity.half_decay(curve),
        "mean_sq_norm": table_statistics.mean_square_norm(E),
        "sq_norm_cv": table_statistics.norm_variation(E),
        "participation_ratio": table_statistics.effective_dimension(E),
        "ood_coordinate_fraction_2L": table_statistics.unseen_coordinates(
            E, far[LENGTH : 2 * LENGTH]
        ).mean(),
    }


@pytest.mark.parametrize("name", CODES)
def test_every_number_of_a_code_is_the_reference(name):
    entry, found = reference.entry(name), computed(name)
    assert set(found) == set(entry["value"])
    for key, value in entry["value"].items():
        if value is None or found[key] is None:
            assert (key, found[key]) == (key, value)
            continue
        if isinstance(value, dict):
            assert list(found[key]) == list(value)
        flat = [
            np.asarray(list(v.values()) if isinstance(v, dict) else v, np.float64)
            for v in (found[key], value)
        ]
        # They are kept with six digits, so what is larger than 1 can only agree in as many.
        np.testing.assert_allclose(*flat, rtol=entry["tol"], atol=entry["tol"], err_msg=key)


def test_the_square_norm_grows_with_the_width():
    expected = reference.entry("diag_norm_growth")["value"]["sinusoidal mean ||E||^2 by d"]
    found = {
        d: table_statistics.mean_square_norm(tables.sinusoidal(np.arange(LENGTH), int(d)))
        for d in expected
    }
    assert list(found.values()) == pytest.approx(list(expected.values()), abs=1e-4)
    assert table_statistics.growth({int(d): size for d, size in found.items()}) == pytest.approx(1)


@pytest.mark.slow
def test_that_of_a_random_table_grows_as_its_expectation():
    expected = reference.entry("diag_norm_growth")["value"]["gaussian std .02"]
    for d, value in expected.items():
        E = np.random.default_rng(0).normal(0, 0.02, (2**23 // int(d), int(d)))
        assert table_statistics.mean_square_norm(E) == pytest.approx(value, abs=1e-4)
