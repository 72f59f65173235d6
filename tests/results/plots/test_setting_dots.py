import pandas as pd
import pytest
from matplotlib import colors

from pe_lab.results.plots import drawing, setting_dots

RUNS = pd.DataFrame(
    [
        ("rope", 0.001, 0, True, 0.1),
        ("rope", 0.001, 1, False, 0.3),
        ("rope", 0.01, 0, True, 1.0),
        ("rope", 0.01, 1, True, 0.8),
        ("alibi", 0.001, 0, True, 0.0),
        ("alibi", 0.01, 0, True, 0.5),
    ],
    columns=["encoding", "rate", "seed", "solved", "2x"],
)


@pytest.fixture
def figure():
    with drawing.settings():
        figure = setting_dots.draw(
            RUNS, x="rate", y="2x", panel="encoding", order=["alibi", "rope"], chosen={"rope": 0.01}
        )
    yield figure
    drawing.pyplot().close(figure)


def test_each_variant_has_a_panel_in_the_given_order(figure):
    visible = [axes for axes in figure.axes if axes.get_visible()]
    assert [axes.get_title() for axes in visible] == ["alibi", "rope"]
    assert [tick.get_text() for tick in visible[0].get_xticklabels()] == ["0.001", "0.01"]


def test_every_run_is_a_dot_and_unsolved_runs_are_hollow(figure):
    first, second, _ = figure.axes[1].collections
    assert sorted(first.get_offsets()[:, 1]) == [0.1, 0.3]
    assert sorted(second.get_offsets()[:, 1]) == [0.8, 1.0]
    white = colors.to_rgba("white")
    assert [tuple(face) == white for face in first.get_facecolors()] == [False, True]
    assert first.get_offsets()[0, 0] < 0 < first.get_offsets()[1, 0]


def test_the_line_joins_medians_and_the_ring_is_around_the_chosen_one(figure):
    axes = figure.axes[1]
    (line,) = axes.lines
    assert list(line.get_ydata()) == pytest.approx([0.2, 0.9])
    ring = axes.collections[-1]
    assert ring.get_offsets().tolist() == [[1.0, pytest.approx(0.9)]]
    assert len(figure.axes[0].collections) == 2  # no ring
