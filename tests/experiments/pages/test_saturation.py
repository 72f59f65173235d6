"""The numbers of saturation on encodings and runs where the answer is known."""

import pandas as pd
import pytest

from pe_lab.contrib.grids.run_scores import AREA
from results.published.saturation import page
from results.published.saturation.page import RATE


def share(name, **more):
    spec = dict(name=name, **more)
    return page.untrained_share(spec, width=64, num_heads=4, trained=4, tested=8)


def test_a_table_is_untrained_at_the_distances_that_training_does_not_have():
    # Of 36 pairs of 8 tokens, 4 + 3 + 2 + 1 have a distance of 4 or more, and 3 + 2 + 1 of 5.
    assert share("shaw", clip=3) == 0
    assert share("shaw", clip=4) == pytest.approx(10 / 36)
    assert share("shaw", clip=64) == pytest.approx(10 / 36)


def test_an_angle_is_untrained_if_its_pair_completes_no_period():
    turn = dict(width=64, num_heads=4, trained=7, tested=14)
    fast = dict(name="rope", fraction=0.125)  # one pair, of one radian a position
    assert page.untrained_share(fast, **turn) == 0
    slow = dict(name="rope", fraction=0.25)
    assert page.untrained_share(slow, **turn) == pytest.approx(28 / 105)


def test_a_bias_without_parameters_for_single_distances_has_no_untrained_logit():
    assert share("alibi", learn_slopes=True) == share("fire") == 0


def runs(areas, solved=1):
    """The same area at both rates, and a little more for every next seed."""
    rows = [
        {"name": name, RATE: rate, "seed": seed, "solved": solved, AREA: area + 0.01 * seed}
        for name, area in areas.items()
        for rate in ("0.001", "0.003")
        for seed in range(4)
    ]
    return pd.DataFrame(rows)


def test_variants_with_more_untrained_logits_and_less_area_correlate_by_minus_one():
    shares = {"a": 0.0, "b": 0.1, "c": 0.2}
    found = page.correlation(runs({"a": 0.9, "b": 0.5, "c": 0.1}), shares)
    assert (found.value, found.interval.low, found.interval.high) == (-1, -1, -1)


def test_a_variant_that_nothing_solves_is_left_out():
    table = pd.concat([runs({"a": 0.9, "b": 0.5, "d": 0.2}), runs({"c": 0.95}, solved=0)])
    shares = {"a": 0.0, "b": 0.1, "c": 0.2, "d": 0.3}
    assert page.correlation(table, shares).value == -1
