import pandas as pd
import pytest
from matplotlib import colors

from pe_lab.contrib.grids.setting_dots import setting_dots
from pe_lab.results.plots import drawing

RUNS = pd.DataFrame(
    [
        (0.001, 0, True, 0.1),
        (0.001, 1, False, 0.3),
        (0.01, 0, True, 1.0),
        (0.01, 1, True, 0.8),
    ],
    columns=["rate", "seed", "solved", "2x"],
)


@pytest.fixture
def axes():
    with drawing.settings():
        axes = setting_dots(RUNS, x="rate", y="2x", order=[0.001, 0.003, 0.01], chosen=0.01)
    yield axes
    drawing.pyplot().close(axes.figure)


def test_each_value_has_a_place_in_the_given_order(axes):
    assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0.001", "0.003", "0.01"]


def test_every_run_is_a_dot_and_unsolved_runs_are_hollow(axes):
    first, empty, second, _ = axes.collections
    assert sorted(first.get_offsets()[:, 1]) == [0.1, 0.3]
    assert len(empty.get_offsets()) == 0
    assert sorted(second.get_offsets()[:, 1]) == [0.8, 1.0]
    white = colors.to_rgba("white")
    assert [tuple(face) == white for face in first.get_facecolors()] == [False, True]
    assert first.get_offsets()[0, 0] < 0 < first.get_offsets()[1, 0]


def test_the_line_joins_medians_and_the_ring_is_around_the_chosen_one(axes):
    (line,) = axes.lines
    heights = line.get_ydata()
    assert [heights[0], heights[2]] == pytest.approx([0.2, 0.9])
    assert pd.isna(heights[1])  # no run has this value
    assert axes.collections[-1].get_offsets().tolist() == [[2.0, pytest.approx(0.9)]]


def test_it_draws_on_given_axes_without_a_ring():
    with drawing.settings():
        _, given = drawing.pyplot().subplots()
        assert setting_dots(RUNS, x="rate", y="2x", axes=given) is given
    assert len(given.collections) == 2
    drawing.pyplot().close(given.figure)
