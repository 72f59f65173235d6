import numpy as np
import pytest

from pe_lab.contrib.inspection import table_statistics
from tests.contrib.inspection import tables

P = np.arange(64)


def test_in_bfloat16_neighbours_of_a_raw_index_become_equal_from_257_on():
    round_trip = table_statistics.through_bfloat16(tables.raw_index(np.arange(300)))
    equal = np.flatnonzero((round_trip[1:] == round_trip[:-1]).all(axis=1))
    assert equal[0] == 256  # 256 and 257
    assert (
        table_statistics.equal_neighbors(round_trip) == len(equal) == 1 + 2 * 10
    )  # 257, and both sides of 260, 264, … 296
    assert table_statistics.equal_neighbors(tables.raw_index(np.arange(300))) == 0


def test_binary_codes_of_ones_survive_bfloat16():
    assert (
        table_statistics.collisions(tables.binary(P))
        == table_statistics.collisions_in_bfloat16(tables.binary(P))
        == 0
    )


def test_a_sine_of_period_8_gives_positions_one_period_apart_one_code():
    E = tables.single_sine(np.arange(9))
    # sin is equal at 0, 4, 8; at 1, 3; and at 5, 7
    assert table_statistics.collisions(E) == 3 + 1 + 1
    assert table_statistics.nearest(E) == pytest.approx(0, abs=1e-12)
    assert table_statistics.alias_margin(E) == pytest.approx(0, abs=1e-12)


def test_below_an_alias_margin_of_1_some_far_position_is_nearer_than_a_neighbour():
    far_is_near = np.asarray([[0.0], [1.0], [2.0], [0.25]])
    assert table_statistics.alias_margin(far_is_near) == 0.25
    assert table_statistics.alias_margin(tables.raw_index(P)) == 2


@pytest.mark.parametrize(("before", "flips"), [(0, 1), (1, 2), (2, 1), (7, 4), (31, 6)])
def test_from_01_to_10_both_bits_flip(before, flips):
    E = tables.binary([before, before + 1])
    assert table_statistics.coordinates_that_change(E) == flips
    assert table_statistics.steps(E) == pytest.approx([np.sqrt(flips)])


def test_a_step_of_binary_leads_farther_than_a_random_pair_and_one_of_sines_does_not():
    assert table_statistics.step_share(tables.binary(P)) == pytest.approx(
        np.sqrt(6) / np.sqrt(2 * 6 / 4)
    )  # six bits, each of variance 1/4
    assert table_statistics.step_share(tables.sinusoidal(P)) < 0.5


@pytest.mark.parametrize("power", [0, 0.5, 1])
def test_growth_is_the_exponent(power):
    assert table_statistics.growth({n: 3.0 * n**power for n in (8, 32, 128)}) == pytest.approx(
        power
    )


def test_a_step_in_twice_the_length_is_half_and_differs_by_its_range_over_its_mean():
    tables_ = {5: np.linspace(0, 1, 5)[:, None], 9: np.linspace(0, 1, 9)[:, None]}
    assert table_statistics.length_consistency(tables_) == pytest.approx((1 / 4 - 1 / 8) / (3 / 16))
    assert table_statistics.drift(tables_[5], tables_[9]) == pytest.approx(0.5)


@pytest.mark.parametrize("dimension", [1, 3, 8])
def test_as_many_directions_of_equal_variance_are_the_effective_dimension(dimension):
    E = np.zeros((2 * dimension, 8))
    E[np.arange(2 * dimension), np.arange(2 * dimension) // 2] = np.tile([1, -1], dimension)
    assert table_statistics.effective_dimension(E + 7) == pytest.approx(dimension)


def test_a_coordinate_outside_of_its_range_is_unseen_and_so_is_nan():
    seen = np.asarray([[0.0, 0.0], [1.0, 1.0]])
    beyond = np.asarray([[0.5, 1.0], [1.5, 0.0], [np.nan, 0.5]])
    assert table_statistics.unseen_coordinates(seen, beyond).tolist() == [
        [False, False],
        [True, False],
        [True, False],
    ]


def test_one_row_has_no_pairs_and_no_steps():
    E = np.ones((1, 3))
    assert (
        table_statistics.nearest(E),
        table_statistics.collisions(E),
        table_statistics.alias_margin(E),
    ) == (None, 0, None)
    assert (
        table_statistics.step_ratio(E),
        table_statistics.step_variation(E),
        table_statistics.step_share(E),
        table_statistics.coordinates_that_change(E),
    ) == (None, None, None, 0)
    assert (
        table_statistics.growth({1: 1.0}),
        table_statistics.length_consistency({1: E}),
        table_statistics.effective_dimension(E),
    ) == (None, None, None)


def test_rows_that_are_all_equal_collide_and_are_no_division_by_zero():
    E = np.zeros((4, 2))
    assert table_statistics.collisions(E) == 6
    assert (
        table_statistics.alias_margin(E),
        table_statistics.step_ratio(E),
        table_statistics.step_share(E),
        table_statistics.norm_variation(E),
    ) == (None, None, None, None)
    assert (table_statistics.drift(E, E), table_statistics.growth({4: 0.0, 8: 0.0})) == (None, 0.0)
    assert (
        table_statistics.growth({1: 0.0, 4: 3.0}) is None
    )  # nothing that becomes something has no exponent


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_what_is_equal_is_a_matter_of_the_codes_own_size(scale):
    E = scale * np.asarray([[0.0, 1.0], [1e-7, 1.0], [5e-4, 1.0], [1.0, 0.0]])
    assert table_statistics.collisions(E) == 1
    assert (
        table_statistics.collisions_in_bfloat16(E) == 3
    )  # the first three: eight bits do not resolve a two-thousandth
