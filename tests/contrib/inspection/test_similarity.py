import numpy as np
import pytest

from pe_lab.contrib.inspection import similarity
from tests.contrib.inspection import tables


def two_sided(size):
    place = np.arange(size, dtype=np.float64)
    return np.abs(place[:, None] - place[None])


def test_a_mask_of_one_head_does_not_hide_the_mean_of_the_others():
    by_head = np.array([[0.0, 2.0, np.nan], [0.0, np.nan, np.nan]])
    np.testing.assert_array_equal(similarity.mean_of_visible(by_head), [0.0, 2.0, np.nan])


def test_inner_products_of_pairs_depend_on_the_offset_alone_and_those_of_an_index_do_not():
    K = similarity.gram(tables.sinusoidal(np.arange(64)))
    assert similarity.toeplitz_fraction(K) == pytest.approx(1)
    assert similarity.by_offset(K)[0] == pytest.approx(8)  # D / 2
    assert similarity.toeplitz_fraction(similarity.gram(tables.raw_index(np.arange(64)))) < 0.2


def test_a_key_behind_may_count_less_than_one_ahead():
    assert similarity.symmetry_defect(np.asarray([[0.0, 1.0], [0.0, 0.0]])) == pytest.approx(
        np.sqrt(2)
    )
    assert similarity.symmetry_defect(np.zeros((2, 2))) == 0


def test_decay_stops_where_a_distance_is_more_similar_than_the_one_before():
    curve = np.asarray([4.0, 3.0, 2.0, 2.5, 1.0])
    assert (
        similarity.first_increase(curve),
        similarity.half_decay(curve),
        similarity.monotone_fraction(curve),
    ) == (3, 2, 0.75)
    assert similarity.first_increase(np.asarray([3.0, 2.0, 2.0])) is None
    assert similarity.half_decay(np.asarray([3.0, 2.0])) is None


def test_what_rises_by_no_more_than_rounding_does_not_rise():
    flat = 1 + 1e-8 * np.asarray([0.0, 1.0, -1.0, 2.0])
    assert (similarity.first_increase(flat), similarity.monotone_fraction(flat)) == (None, 1)
    assert similarity.nearer_is_more_similar(flat[None], np.arange(4.0)[None]) is None


@pytest.mark.parametrize(
    ("values", "share"),
    [
        ([4, 3, 2, 1], 1.0),
        ([1, 2, 3, 4], 0.0),
        ([2, 1, 1, 1], 1.0),
        ([3, 1, 2, 0], 5 / 6),
        ([1, 1, 1, 1], None),
    ],
)
def test_of_pairs_that_differ_it_counts_those_whose_nearer_is_more_similar(values, share):
    K, distance = np.asarray([values], np.float64), np.arange(4.0)[None]
    assert similarity.nearer_is_more_similar(K, distance) == (
        share if share is None else pytest.approx(share)
    )


def test_keys_equally_far_on_both_sides_are_not_compared():
    assert (
        similarity.nearer_is_more_similar(
            np.asarray([[5.0, 9.0, 4.0]]), np.asarray([[1.0, 0.0, 1.0]])
        )
        == 1
    )


def test_an_index_is_most_similar_to_the_largest_index_whichever_is_near():
    K = similarity.gram(tables.raw_index(np.arange(64)))
    assert similarity.nearer_is_more_similar(K, two_sided(64)) == pytest.approx(0.5, abs=0.01)


def test_one_position_is_only_itself():
    K = np.ones((1, 1))
    assert (
        similarity.toeplitz_fraction(K),
        similarity.first_increase(K[0]),
        similarity.monotone_fraction(K[0]),
    ) == (1, None, None)
    assert similarity.nearer_is_more_similar(K, np.zeros((1, 1))) is None


def test_what_lies_ahead_may_differ_from_what_lies_behind_and_still_depend_on_the_offset_alone():
    place = np.arange(6.0)
    assert similarity.toeplitz_fraction(place[None] - place[:, None]) == pytest.approx(1)
