"""Ticks of lengths: the ends are shown, and no two of them overlap."""

import pytest
from matplotlib.figure import Figure

from pe_lab.results.plots import drawing


@pytest.mark.parametrize(
    ("lengths", "expected"),
    [
        ([8], [8]),
        ([4, 8, 16], [4, 8, 16]),
        ([8, 9, 10, 12, 16, 24, 32], [8, 12, 16, 24, 32]),  # 9 and 10 are too near to 8 and 12
        (range(1, 101), [1, 12, 23, 34, 45, 56, 67, 78, 89, 100]),
    ],
)
def test_ticks_on_a_linear_scale(lengths, expected):
    axes = Figure().subplots()
    drawing.ticks_at(axes, lengths)
    assert axes.get_xticks().tolist() == expected


def test_ticks_on_a_log_scale_are_apart_in_its_own_distance():
    axes = Figure().subplots()
    drawing.length_ticks(axes, [5, 10, 25, 50, 100, 103, 108, 140])
    assert axes.get_xscale() == "log"
    assert axes.get_xticks().tolist() == [5, 10, 25, 50, 140]


def test_labels_of_narrow_axes_do_not_touch():
    """Two labels of six letters need a fifth of axes that are half as wide as the figure."""
    axes = Figure().subplots(1, 2)[0]
    drawing.length_ticks(axes, [0.5, 1, 17 / 12, 20 / 12, 2, 35 / 12], "×")
    labels = [axes.xaxis.get_major_formatter()(place) for place in axes.get_xticks()]
    assert labels == ["0.5×", "1×", "1.417×", "2×", "2.917×"]
