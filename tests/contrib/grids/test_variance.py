import numpy as np
import pytest

from pe_lab.contrib.grids import variance


def test_two_factors_by_hand():
    """Rows differ by 2, columns by 4, and nothing else varies.

    The mean squares are 2 · 1² · 2 / 1 = 4 and 2 · 2² · 2 / 1 = 16, and that of the interaction is
    0, so the components are 4 / 2 and 16 / 2.
    """
    values = np.array([[0.0, 4.0], [2.0, 6.0]])
    parts = variance.components(values, ("row", "column"))
    assert parts == pytest.approx({"row": 2.0, "column": 8.0, "row x column": 0.0})
    assert variance.shares(values, ("row", "column"))["column"] == pytest.approx(0.8)


def test_components_are_right_on_average():
    """Simulated studies of three factors of which all components are known."""
    truth = {
        "encoding": 1.0,
        "rate": 0.5,
        "seed": 0.1,
        "encoding x rate": 0.3,
        "encoding x seed": 0.0,
        "rate x seed": 0.0,
        "encoding x rate x seed": 0.2,
    }
    generator = np.random.default_rng(0)
    shape = {"encoding": 6, "rate": 4, "seed": 6}
    sums = dict.fromkeys(truth, 0.0)
    studies = 1500
    for _ in range(studies):
        values = np.zeros(tuple(shape.values()))
        for name, component in truth.items():
            names = name.split(variance.JOIN)
            size = tuple(n if factor in names else 1 for factor, n in shape.items())
            values = values + generator.normal(scale=component**0.5, size=size)
        for name, component in variance.components(values, tuple(shape)).items():
            sums[name] += component / studies
    assert sums == pytest.approx(truth, abs=0.05)


def test_intervals_hold_the_share_of_many_seeds():
    """Six seeds of four encodings at three rates, whose effects stay the same in all studies."""
    generator = np.random.default_rng(1)
    factors = ("encoding", "rate", "seed")
    effects = generator.normal(size=(4, 3, 1))

    def study(num_seeds):
        seeds = generator.normal(scale=0.3, size=(1, 1, num_seeds))
        rounding = generator.normal(scale=0.5, size=(4, 3, num_seeds))
        return effects + seeds + rounding

    truth = variance.shares(study(20_000), factors)
    studies = 300
    held = dict.fromkeys(("encoding", "encoding x rate", "encoding x rate x seed"), 0)
    for _ in range(studies):
        intervals = variance.share_intervals(study(6), factors, "seed")
        for name in held:
            held[name] += intervals[name].low <= truth[name] <= intervals[name].high
    assert min(held.values()) > 0.9 * studies
    assert min(held.values()) < studies  # intervals are not so wide that they hold everything


def test_intervals_of_equal_seeds_have_no_width():
    values = np.repeat(np.array([[0.0, 4.0], [2.0, 7.0]])[:, :, None], 4, axis=2)
    factors = ("row", "column", "seed")
    share = variance.shares(values, factors)["column"]
    interval = variance.share_intervals(values, factors, "seed")["column"]
    assert (interval.low, interval.high) == pytest.approx((share, share))


def test_shares_of_a_constant_are_not_a_number():
    assert np.isnan(variance.shares(np.ones((3, 2)), ("a", "b"))["a"])


def test_without_one_level_of_which_nothing_varies_there_is_no_interval():
    values = np.zeros((3, 4))
    values[0, 0] = 1
    assert variance.share_intervals(values, ("a", "b"), "b") == {
        "a": None,
        "b": None,
        "a x b": None,
    }


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.ones((2, 2, 2)), "3 axes need as many factors, got 2"),
        (np.ones((1, 2)), r"two levels, got the shape \(1, 2\)"),
        (np.array([[1.0, np.nan], [0.0, 1.0]]), "cells without a number"),
    ],
)
def test_what_has_no_components_is_refused(values, message):
    with pytest.raises(ValueError, match=message):
        variance.components(values, ("a", "b"))
