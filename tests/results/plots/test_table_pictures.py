"""Pictures of the tables of an analysis spec."""

import pytest
from matplotlib.colors import to_hex

from pe_lab.results import frame
from pe_lab.results.plots import styles
from tests.results import synthetic
from tests.results.fake_study import point, record, values, write_study
from tests.results.plots.figures import caption, legend, panels, xy

RATES = ("0.001", "0.002", "0.003")


def study(folder, table, **more):
    """Write a synthetic study of two encodings and two seeds with one table."""
    values = dict(
        encodings=("rope", "alibi"), seeds=2, rates=(), tasks=(), schemes=(), offsets=(0,)
    )
    return synthetic.write(folder, **{**values, **more}, analysis={"tables": [table]})


def by_rate(folder, metric, groups, rows="model.encodings", **table):
    """Write a study of three learning rates with one table.

    Args:
      groups: (labels without the rate, records of one rate).
    """
    entries = []
    for number, (labels, runs) in enumerate(groups):
        others = {axis: text for axis, text in labels.items() if axis != "encoding"}
        for rate in RATES:
            for seed, of_run in enumerate(runs):
                where = {"train.learning_rate": rate, **others}
                labels_of_run = point(labels.get("encoding", "rope"), seed, **where)
                of_run = {"validation": {4: 1.0}, **of_run}
                entries.append((labels_of_run, record(f"{rate}{number}{seed}", seed, **of_run)))
    spec = dict(rows=rows, columns="train.learning_rate", metric=metric, **table)
    return write_study(folder, *entries, analysis={"tables": [spec], "oracle": "Paper 2023"})


@pytest.mark.slow
def test_columns_that_are_numbers_are_lines_with_seeds_as_dots(drawn, tmp_path):
    table = dict(rows="model.encodings", columns="train.learning_rate", metric="trained_length")
    folder = study(tmp_path, table, rates=("0.003", "0.001", "0.002"))
    figure = drawn(folder)["table_1"]
    (axis,) = panels(figure)
    found = frame.read(folder)
    alibi = {
        float(row["train.learning_rate"]): values(found, name, 8)
        for name, row in found.by_name.items()
        if row["model.encodings"] == "alibi"
    }
    dots, centers = [xy(line) for line in axis.lines[2:]]
    assert dots == (
        [0.001, 0.001, 0.002, 0.002, 0.003, 0.003],
        [value for rate in sorted(alibi) for value in alibi[rate]],
    )
    assert centers == ([0.001, 0.002, 0.003], [sum(alibi[rate]) / 2 for rate in sorted(alibi)])
    assert [to_hex(line.get_color()) for line in axis.lines[1::2]] == list(styles.PALETTE[:2])
    assert legend(figure) == ["RoPE", "ALiBi"]
    assert axis.get_xlabel() == "learning rate"


@pytest.mark.slow
def test_rows_that_are_variants_have_the_colors_of_the_variants(drawn, tmp_path):
    table = dict(rows="variant", columns="length", metric="exact_match")
    figures = drawn(study(tmp_path, table, encodings=("nope", "rope", "alibi")))
    looks = [
        [
            (line.get_color(), line.get_marker())
            for line in figures[name].axes[0].lines
            if line.get_zorder() == 3
        ]
        for name in ("exact_match", "table_1")
    ]
    assert looks[0] == looks[1]
    assert len(set(looks[0])) == 3


@pytest.mark.slow
def test_columns_that_are_names_are_a_map_for_each_value_of_each(drawn, tmp_path):
    table = dict(rows="model.encodings", columns="task", each="positions", metric="trained_length")
    tasks = ("copy", "reverse", "sort", "addition")
    folder = study(
        tmp_path,
        table,
        encodings=("rope", "alibi", "nope", "t5_bias"),
        tasks=tasks,
        schemes=("contiguous", "shifted"),
    )
    figure = drawn(folder)["table_1"]
    contiguous, shifted = panels(figure)
    assert (contiguous.get_title(), shifted.get_title()) == ("contiguous", "shifted")
    found = frame.read(folder)
    variants = {
        (row["model.encodings"], row["task"]): name
        for name, row in found.by_name.items()
        if row["positions"] == "shifted"
    }
    rope = [sum(values(found, variants["rope", task], 8)) / 2 for task in tasks]
    numbers = [text.get_text().rstrip("*‡†") for text in shifted.texts[:4]]
    assert numbers == [f"{value:.2f}" for value in rope]
    assert [t.get_text() for t in shifted.get_xticklabels()] == list(tasks)
    words = ["RoPE", "ALiBi", "NoPE", "T5 bias"]
    assert [t.get_text() for t in contiguous.get_yticklabels()] == words


@pytest.mark.slow
def test_signs_of_a_map_are_explained(drawn, tmp_path):
    entries = [
        (point(f"mine_{i}", 0, task=task), record(f"{task}{i}", test={4: 0.5}, task=task))
        for i in range(4)
        for task in ("a", "b", "c", "d")
        if (i, task) != (3, "d")
    ]
    table = dict(rows="model.encodings", columns="task", metric=dict(name="exact_match", at=1))
    figure = drawn(write_study(tmp_path, *entries, analysis={"tables": [table]}))["table_1"]
    words = "Medians over seeds; – no number; * no seed solved the training lengths."
    assert caption(figure) == words
    assert [text.get_text() for text in panels(figure)[0].texts][-2:] == ["0.50*", "–"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "table",
    [
        dict(rows="model.encodings", columns="task", metric="solved"),
        dict(measures=("steps", "flops")),
        # Two rows and two columns are read as fast as a picture of them.
        dict(rows="model.encodings", columns="task", metric="trained_length"),
    ],
)
def test_counts_several_metrics_and_small_tables_have_no_picture(drawn, tmp_path, table):
    (tmp_path / "table_1.png").write_text("old")
    assert "table_1" not in drawn(study(tmp_path, table, tasks=("copy", "reverse")))
    assert not (tmp_path / "table_1.png").exists()


@pytest.mark.slow
def test_losses_are_logarithmic(drawn, tmp_path):
    table = dict(rows="task", columns="train.learning_rate", metric="in_distribution_loss")
    folder = study(tmp_path, table, encodings=("rope",), tasks=("copy", "reverse"), rates=RATES)
    (axis,) = panels(drawn(folder)["table_1"])
    assert (axis.get_yscale(), axis.get_ylabel()) == ("log", "validation loss")
    assert len({line.get_color() for line in axis.lines}) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "height"),
    [({4: 1.0, 8: 0.95, 16: 0.1}, 8), ({4: 1.0, 8: 1.0}, 8), ({4: 0.2, 8: 0.1}, 0)],
)
def test_the_longest_length_that_works_is_a_line_and_below_the_shortest_0(
    drawn, tmp_path, test, height
):
    figure = drawn(by_rate(tmp_path, "L90", [({}, [dict(test=test)])]))["table_1"]
    (axis,) = panels(figure)
    assert [xy(line) for line in axis.lines] == [([0.001, 0.002, 0.003], [height] * 3)] * 2
    words = "0: below the shortest length; the longest length: at least that."
    assert caption(figure).endswith(words)


@pytest.mark.parametrize(
    ("show", "height", "words"),
    [
        ("median", 0.2, "medians over seeds"),
        ("seeds", 0.2, "medians over seeds"),
        ("mean", 0.38, "means over seeds"),
        ("iqm", 0.29, "interquartile means over seeds"),
        ("best", 1.0, "the best seed and setting on the test"),
    ],
)
def test_a_line_is_the_center_that_the_table_shows(drawn, tmp_path, show, height, words):
    runs = [dict(test={4: value}) for value in (0.0, 0.1, 0.2, 0.6, 1.0)]
    figure = drawn(by_rate(tmp_path, dict(name="exact_match", at=1, show=show), [({}, runs)]))[
        "table_1"
    ]
    assert xy(panels(figure)[0].lines[1])[1] == pytest.approx([height] * 3)
    assert caption(figure) == f"Lines: {words}; dots: single seeds."
    assert panels(figure)[0].get_ylabel() == "exact match"


def test_points_that_no_seed_solved_are_hollow(drawn, tmp_path):
    runs = [dict(test={4: 0.5}, validation={4: 0.5})]
    figure = drawn(by_rate(tmp_path, dict(name="exact_match", at=1), [({}, runs)]))["table_1"]
    _, line, hollow = panels(figure)[0].lines
    assert (hollow.get_markerfacecolor(), xy(hollow)) == ("white", xy(line))
    assert caption(figure).endswith("hollow marks: no seed solved the training lengths.")


@pytest.mark.slow
def test_axes_with_different_rows_share_the_legend_and_the_styles(drawn, tmp_path):
    runs = [
        ({"positions": scheme, "task": task}, [dict(test={4: 0.5}, task=task)])
        for scheme, task in (("a", "copy"), ("b", "sort"), ("b", "copy"))
    ]
    figure = drawn(by_rate(tmp_path, "trained_length", runs, rows="task", each="positions"))[
        "table_1"
    ]
    first, second = panels(figure)
    (copy,) = [line.get_color() for line in first.lines[1::2]]
    sort, copy_again = [line.get_color() for line in second.lines[1::2]]
    assert copy == copy_again != sort
    assert legend(figure) == ["copy", "sort"]


@pytest.mark.slow
def test_a_share_below_zero_and_one_above_one_are_inside_the_picture(drawn, tmp_path):
    """A token accuracy of 0.1 where chance has 0.5; exact match that is larger beyond training."""
    below = [({}, [dict(test={4: 0.0}, tokens={4: 0.1}, chance_levels={4: 0.0})])]
    metric = dict(name="chance_corrected_token_accuracy", at=1)
    (axis,) = panels(drawn(by_rate(tmp_path / "a", metric, below))["table_1"])
    assert axis.get_ylim() == pytest.approx((-0.84, 1.04))
    above = [({}, [dict(test={4: 0.4, 8: 0.6})])]
    (axis,) = panels(drawn(by_rate(tmp_path / "b", "retention", above))["table_1"])
    assert axis.get_ylim() == pytest.approx((-0.04, 1.54))
    (axis,) = panels(drawn(by_rate(tmp_path / "c", "log_auc", above))["table_1"])
    assert axis.get_ylim() == pytest.approx((-0.04, 1.04))
