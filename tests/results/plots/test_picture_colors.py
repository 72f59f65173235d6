"""Colors, markers and legends tell the variants of a picture apart."""

import pandas as pd
import pytest
from matplotlib.colors import to_hex

from pe_lab.results import frame
from pe_lab.results.plots import plotted, styles
from tests.results import synthetic
from tests.results.fake_study import point, record, two_variants, write_study
from tests.results.plots.figures import caption, legend, panels, xy
from tests.results.plots.small_studies import (
    CHANCE,
    TRAINING,
    colors,
    looks,
    many,
    medians,
    small,
)
from tests.results.test_changes import changed

REVEALS, SEEN = "† reveals the target length", "‡ positions seen in training"


@pytest.mark.slow
def test_variants_of_one_panel_differ_in_color_and_panels_show_what_differs(drawn, tmp_path):
    """Fifteen variants are three panels of five lines, one for each scheme."""
    folder = small(tmp_path, encodings=synthetic.ENCODINGS, schemes=synthetic.SCHEMES)
    figure = drawn(folder)["exact_match"]
    axes = panels(figure)
    titles = ["contiguous", "shifted\u00a0‡", "randomized\u00a0†\u00a0‡"]
    assert [axis.get_title() for axis in axes] == titles
    assert [colors(axis) for axis in axes] == [list(styles.PALETTE[:5])] * 3
    names = ["RoPE", "ALiBi", "T5 bias", "learned", "NoPE"]
    assert legend(figure) == [*names, TRAINING, CHANCE, REVEALS, SEEN]


def test_the_legend_says_how_many_runs_are_solved_where_some_are_not(drawn, tmp_path):
    figure = drawn(two_variants(tmp_path))["exact_match"]
    names = ["RoPE (1/3 solved)", "ALiBi (0/2 solved)", TRAINING, CHANCE]
    assert legend(figure) == names
    faces = [line.get_markerfacecolor() for line in medians(figure.axes[0])]
    assert faces == [styles.PALETTE[0], "white"]
    assert caption(figure).endswith("hollow marks: no seed solved the training lengths.")


def test_a_variant_has_its_color_and_marker_in_every_picture(drawn, tmp_path):
    figures = drawn(small(tmp_path, offsets=(0, 16)))
    for name in ("exact_match", "position_offset", "training"):
        assert looks(figures[name]) == list(zip(styles.PALETTE[:2], "os", strict=True))
    solved, _ = figures["extrapolation"].axes
    dots = [to_hex(line.get_color()) for line in solved.lines if line.get_marker() == "o"]
    assert dots == list(styles.PALETTE[:2])


@pytest.mark.slow
@pytest.mark.parametrize(("count", "sizes"), [(8, [8]), (9, [5, 4]), (30, [8, 8, 7, 7])])
def test_no_panel_has_more_lines_than_a_reader_can_follow(drawn, tmp_path, count, sizes):
    figure = drawn(many(tmp_path, count))["exact_match"]
    assert [len(set(looks(figure, number))) for number in range(len(sizes))] == sizes
    assert len(panels(figure)) == len(sizes)
    assert legend(figure)[:count] == [f"mine {i}" + " (0/1 solved)" * (i < 0) for i in range(count)]
    if count == 9:
        titles = [axis.get_title() for axis in panels(figure)]
        assert titles == ["variants 1 to 5", "variants 6 to 9"]


@pytest.mark.parametrize(
    ("labels", "most", "expected"),
    [
        # The fewest groups: of the encodings, and not of the rates
        (dict(encoding="aaabbb", rate="123123"), 3, {"a": [0, 1, 2], "b": [3, 4, 5]}),
        # Of equally many groups, those of the last axis
        (dict(encoding="aabb", rate="1212"), 2, {"1": [0, 2], "2": [1, 3]}),
        # A group of one line compares nothing.
        (dict(encoding="aaab"), 3, {"": [0, 1], " ": [2, 3]}),
        # No group of a single axis is small enough.
        (dict(a="11112222", b="11221122", c="12121212"), 2, {"11": [0, 4], "12": [1, 5],
                                                             "21": [2, 6], "22": [3, 7]}),
    ],
)  # fmt: skip
def test_groups_have_common_labels_and_are_few(labels, most, expected):
    groups = plotted.groups(pd.DataFrame({axis: list(row) for axis, row in labels.items()}), most)
    common = ["".join(of_group.values()) for of_group, _ in groups]
    assert common == [words.strip() for words in expected]
    assert [rows for _, rows in groups] == list(expected.values())


@pytest.mark.slow
def test_each_task_has_an_axes_and_a_variant_looks_the_same_in_all(drawn, tmp_path):
    figure = drawn(small(tmp_path, tasks=("copy", "reverse")))["exact_match"]
    copy, reverse = panels(figure)
    assert [axis.get_title() for axis in (copy, reverse)] == ["copy", "reverse"]
    assert colors(copy) == colors(reverse) == list(styles.PALETTE[:2])
    assert legend(figure) == ["RoPE", "ALiBi", TRAINING, CHANCE]


def test_an_evaluation_override_is_a_line_of_its_own(drawn, tmp_path):
    run = changed(record("r", 0, test={4: 1.0}), "rope(scaling=linear)", {4: 0.6})
    figure = drawn(write_study(tmp_path, (point("rope", 0), run)))["exact_match"]
    assert [xy(line) for line in medians(figure.axes[0])] == [([4], [1.0]), ([4], [0.6])]
    names = ["RoPE (0/1 solved)", "RoPE, evaluated with RoPE, scaling linear (0/1 solved)"]
    assert legend(figure)[:2] == names


def test_an_override_of_many_variants_has_an_axes_of_its_own(drawn, tmp_path):
    names = ("rope", "alibi", "shaw", "t5_bias", "fire")
    runs = [record(name, test={4: 1.0, 8: 0.5}, validation={4: 1.0}) for name in names]
    entries = [(point(run["run_id"], 0), changed(run, "linear", {4: 0.5})) for run in runs]
    figure = drawn(write_study(tmp_path, *entries))["exact_match"]
    trained, with_override = panels(figure)
    assert (trained.get_title(), with_override.get_title()) == ("as trained", "with linear")
    assert colors(trained) == colors(with_override)
    assert len(set(colors(trained))) == 5
    assert {xy(line)[1][0] for line in medians(trained)} == {1.0}
    assert {xy(line)[1][0] for line in medians(with_override)} == {0.5}
    assert legend(figure) == ["RoPE", "ALiBi", "Shaw", "T5 bias", "FIRE", TRAINING]


def test_an_override_looks_the_same_for_every_task(tmp_path):
    """The task is the last label of the name, before the override."""
    entries = []
    for task in ("copy", "parity"):
        for name in ("rope", "alibi"):
            run = record(name + task, test={4: 1.0}, validation={4: 1.0}, task=task)
            entries.append((point(name, 0, task=task), changed(run, "linear", {4: 0.5})))
    data = plotted.of(frame.read(write_study(tmp_path, *entries)))
    keys = ["rope", "rope, evaluated with linear", "alibi", "alibi, evaluated with linear"]
    assert (list(data.keys.values()), list(data.looks)) == (keys * 2, keys)


def test_a_sign_marks_what_reveals_the_target_length_and_the_legend_explains_it(drawn, tmp_path):
    entries = [
        (point(n, 0), record(n, test={4: 1.0}, validation={4: 1.0}, reveals=n == "rope"))
        for n in ("rope", "alibi")
    ]
    figures = drawn(write_study(tmp_path, *entries))
    assert legend(figures["exact_match"]) == ["RoPE †", "ALiBi", TRAINING, REVEALS]
    solved, _ = figures["extrapolation"].axes
    assert [t.get_text() for t in solved.get_yticklabels()] == ["ALiBi", "RoPE\u00a0†"]
    assert caption(figures["extrapolation"]).endswith(f"{REVEALS}.")


def test_a_sign_marks_what_saw_the_positions_of_the_test_and_the_legend_explains_it(
    drawn, tmp_path
):
    entries = []
    for name, largest in (("rope", 17), ("alibi", 9)):
        run = record(name, test={4: 1.0, 8: 1.0}, validation={4: 1.0}, max_position=largest)
        entries.append((point(name, 0), run))
    figures = drawn(write_study(tmp_path, *entries))
    assert legend(figures["exact_match"]) == ["RoPE ‡", "ALiBi", TRAINING, SEEN]
    solved, _ = figures["extrapolation"].axes
    assert [t.get_text() for t in solved.get_yticklabels()] == ["RoPE\u00a0‡", "ALiBi"]
    assert caption(figures["extrapolation"]).endswith(f"{SEEN}.")


def test_a_variant_with_a_sign_for_one_task_alone_has_a_line_of_its_own_in_the_legend(tmp_path):
    entries = []
    for task, largest in (("copy", 17), ("sort", 9)):
        for name in ("rope", "alibi"):
            run = record(
                name + task,
                test={4: 1.0, 8: 1.0},
                validation={4: 1.0},
                task=task,
                max_position=largest if name == "rope" else 9,
            )
            entries.append((point(name, 0, task=task), run))
    data = plotted.of(frame.read(write_study(tmp_path, *entries)))
    labels = {data.labels[key]: data.looks[key] for key in data.keys.values()}
    assert set(labels) == {"RoPE", "RoPE\u00a0‡", "ALiBi"}
    assert labels["RoPE"] == labels["RoPE\u00a0‡"] != labels["ALiBi"]
