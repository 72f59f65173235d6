"""Ticks of lengths: the ends are shown, and no two of them overlap."""

import pytest
from matplotlib.figure import Figure

from pe_lab.results.plots import drawing


@pytest.mark.parametrize(
    ("lengths", "scale", "expected"),
    [
        ([8], "linear", [8]),
        ([0, 4, 8, 16], "linear", [0, 4, 8, 16]),  # 0 is on no log axis
        ([24, 25, 26, 28, 32, 40], "linear", [24, 26, 28, 32, 40]),  # 25 is too near to 24
        (range(100, 200), "linear", [100, 111, 122, 133, 144, 155, 166, 177, 188, 199]),
        ([4, 8], "log", [4, 8]),
        ([64, 128, 256, 512], "log", [64, 128, 256, 512]),
        ([5, 10, 25, 50, 100, 103, 108, 140], "log", [5, 10, 25, 50, 140]),
    ],
)
def test_lengths_that_double_are_on_a_log_axis_with_ticks_apart(lengths, scale, expected):
    axes = Figure().subplots()
    drawing.ticks_at(axes, lengths)
    assert axes.get_xscale() == scale
    assert axes.get_xticks().tolist() == expected
    if scale == "log":
        assert axes.xaxis.get_transform().base == 2


def test_labels_of_narrow_axes_do_not_touch():
    """Two labels of six letters need a fifth of axes that are half as wide as the figure."""
    axes = Figure().subplots(1, 2)[0]
    drawing.ticks_at(axes, [0.5, 1, 17 / 12, 20 / 12, 2, 35 / 12], "×")
    labels = [axes.xaxis.get_major_formatter()(place) for place in axes.get_xticks()]
    assert labels == ["0.5×", "1×", "1.417×", "2×", "2.917×"]
