import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

from pe_lab.analysis import plots, results
from tests.analysis.fake_study import point, record, two_variants, write_study


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draws a study and gives the figure before it is closed."""
    kept = []
    close = pyplot.close
    monkeypatch.setattr(pyplot, "close", lambda figure: (kept.append(figure), close(figure)))

    def draw(folder):
        assert plots.write(results.load(folder), tmp_path) == tmp_path / "exact_match.png"
        assert (tmp_path / "exact_match.png").read_bytes().startswith(b"\x89PNG")
        return kept[0]

    return draw


def panels(figure):
    return [axis for axis in figure.axes if axis.axison]


def points(axis):
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in axis.lines]


def test_a_panel_holds_a_line_a_run_their_mean_and_the_training_length(drawn, tmp_path):
    rope, alibi = panels(drawn(two_variants(tmp_path)))
    assert points(rope) == [([4, 8], [1.0, 0.5]), ([4, 8], [0.996, 0.3]), ([], []), ([4, 8], [0.998, 0.4]), ([4, 4], [0, 1])]
    assert points(alibi) == [([], []), ([4], [0.5]), ([4], [0.5]), ([4, 4], [0, 1])]
    assert [line.get_linestyle() for line in rope.lines] == ["-"] * 4 + ["--"]


def test_a_panel_says_how_many_runs_learnt_in_red_where_none_did(drawn, tmp_path):
    figure = drawn(two_variants(tmp_path))
    titles = [(a.get_title(), a.title.get_color()) for a in panels(figure)]
    assert titles == [("rope\n1/3 learnt", "black"), ("alibi\n0/2 learnt", "tab:red")]
    assert (figure.get_supxlabel(), figure.get_supylabel()) == ("length (symbols)", "exact match")
    assert figure.get_suptitle().startswith("fake: ")


@pytest.mark.parametrize(("count", "shape"), [(1, (1, 1)), (5, (1, 5)), (6, (2, 4)), (12, (3, 4))])
def test_panels_stand_in_the_rows_that_leave_fewest_places_empty(drawn, tmp_path, count, shape):
    entries = [(point(f"e{i}", 0), record(f"r{i}", test={4: 1.0})) for i in range(count)]
    figure = drawn(write_study(tmp_path, *entries))
    assert len(panels(figure)) == count
    assert figure.axes[0].get_gridspec().get_geometry() == shape
    below = panels(figure)[-shape[1] :]  # the last of each column says its lengths
    assert [axis.xaxis.get_tick_params()["labelbottom"] for axis in below] == [True] * shape[1]


def test_the_dashed_line_of_a_panel_is_the_training_length_of_its_own_runs(drawn, tmp_path):
    entries = [(point(f"{n}", 0), record(f"r{n}", test={4: 1.0}, max_length=n)) for n in (4, 8)]
    figure = drawn(write_study(tmp_path, *entries))
    assert [points(axis)[-1] for axis in panels(figure)] == [([4, 4], [0, 1]), ([8, 8], [0, 1])]


def test_what_knows_the_targets_length_carries_a_dagger_that_is_explained(drawn, tmp_path):
    entries = [(point(n, 0), record(n, test={4: 1.0}, validation={4: 1.0}, told=n == "rope")) for n in ("rope", "alibi")]
    figure = drawn(write_study(tmp_path, *entries))
    assert [axis.get_title() for axis in panels(figure)] == ["rope †\n1/1 learnt", "alibi\n1/1 learnt"]
    assert figure.get_suptitle().endswith("; † told the answer's length")


def test_nothing_is_said_of_a_dagger_where_there_is_none(drawn, tmp_path):
    assert "†" not in drawn(two_variants(tmp_path)).get_suptitle()


def test_the_first_offset_is_drawn(drawn, tmp_path):
    (axis,) = panels(drawn(write_study(tmp_path, (point("rope", 0), record("r", test={(4, 0): 1.0, (4, 9): 0.5})))))
    assert points(axis)[0] == ([4], [1.0])


def test_one_study_gives_one_picture_to_the_last_byte(tmp_path):
    found = results.load(two_variants(tmp_path))
    pictures = [plots.write(found, tmp_path).read_bytes() for _ in range(2)]
    assert pictures[0] == pictures[1]


def test_nothing_is_drawn_before_a_run_has_finished(tmp_path):
    folder = write_study(tmp_path, (point("rope", 0), record("r", status="diverged")), (point("rope", 1), "s"))
    assert plots.write(results.load(folder), tmp_path) is None
    assert not (tmp_path / "exact_match.png").exists()
