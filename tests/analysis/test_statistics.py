import math

import pytest

from pe_lab.analysis import statistics


@pytest.mark.parametrize(("values", "expected"), [([0.25], 0.25), ([1.0, 0.5, 0.0], 0.5), ([1.0, 2.0, 4.0, 5.0], 3.0), ([], None)])
def test_the_mean_is_the_sum_over_the_count_and_nothing_has_none(values, expected):
    assert statistics.mean(values) == expected


def test_the_mean_takes_what_can_be_read_only_once():
    assert statistics.mean(v for v in (0.5, 1.0)) == 0.75


def test_the_mean_loses_no_digits_to_order():
    values = [1e16, 1.0, -1e16, 1.0]
    assert statistics.mean(values) == statistics.mean(values[::-1]) == 0.5


def test_a_number_that_is_not_finite_is_not_hidden():
    assert math.isnan(statistics.mean([1.0, math.nan]))


@pytest.mark.parametrize(
    ("accuracy", "floor", "expected"),
    [(0.75, 0.5, 0.5), (0.5, 0.5, 0.0), (1.0, 0.875, 1.0), (0.25, 0.5, -0.5), (0.3, 0.0, 0.3), (1.0, 1.0, None)],
)
def test_an_accuracy_is_told_as_the_part_of_the_way_from_the_floor_to_1(accuracy, floor, expected):
    assert statistics.floor_corrected(accuracy, floor) == expected
