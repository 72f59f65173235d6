"""Pictures of the tables of an analysis spec."""

import itertools

import pytest

from pe_lab.results import frame
from pe_lab.results.plots import styles
from tests.results.fake_study import point, record, values, write_study
from tests.results.plots.figures import caption, dots, legend, panels, xy
from tests.results.plots.small_studies import colors, looks, medians, small

RATES = ("0.001", "0.002", "0.003")


def by_rate(folder, metric, groups, rows="model.encodings", **table):
    """Write a study of three learning rates with one table.

    Args:
      groups: (labels without the rate, values of the records of one rate, by seed).
    """
    entries = []
    for (number, (labels, runs)), rate in itertools.product(enumerate(groups), RATES):
        for seed, values_of_run in enumerate(runs):
            more = {"validation": {4: 1.0}, **values_of_run}
            run = record(f"{rate}{number}{seed}", seed, **more)
            entries.append((point("rope", seed, **{"train.learning_rate": rate}, **labels), run))
    spec = dict(rows=rows, columns="train.learning_rate", metric=metric, **table)
    return write_study(folder, *entries, analysis={"tables": [spec], "oracle": "Paper 2023"})


@pytest.fixture
def picture(drawn, tmp_path):
    """Draw the table of `by_rate`: the figure and its first axes."""

    def draw(*args, **table):
        figure = drawn(by_rate(tmp_path, *args, **table))["table_1"]
        return figure, panels(figure)[0]

    return draw


@pytest.mark.slow
def test_columns_that_are_numbers_are_lines_with_seeds_as_dots(drawn, tmp_path):
    table = dict(rows="model.encodings", columns="train.learning_rate", metric="trained_length")
    folder = small(tmp_path, analysis={"tables": [table]}, rates=("0.003", "0.001", "0.002"))
    figure = drawn(folder)["table_1"]
    (axis,) = panels(figure)
    study = frame.read(folder)
    alibi = [values(study, f"alibi · {rate}", 8) for rate in RATES]
    assert len(dots(axis)) == 2 * len(RATES) * 2
    of_alibi = {(float(r), y) for r, ys in zip(RATES, alibi, strict=True) for y in ys}
    assert of_alibi <= set(dots(axis))
    _, centers = map(xy, medians(axis))
    assert centers == ([0.001, 0.002, 0.003], [sum(of_rate) / 2 for of_rate in alibi])
    assert colors(axis) == list(styles.PALETTE[:2])
    assert legend(figure) == ["RoPE", "ALiBi"]
    assert axis.get_xlabel() == "learning rate"


@pytest.mark.slow
def test_rows_that_are_variants_have_the_colors_of_the_variants(drawn, tmp_path):
    table = dict(rows="variant", columns="length", metric="exact_match")
    analysis = {"tables": [table]}
    figures = drawn(small(tmp_path, analysis=analysis, encodings=("nope", "rope", "alibi")))
    of_variants, of_rows = (looks(figures[name]) for name in ("exact_match", "table_1"))
    assert of_variants == of_rows
    assert len(set(of_rows)) == 3


@pytest.mark.slow
def test_columns_that_are_names_are_a_map_for_each_value_of_each(drawn, tmp_path):
    table = dict(rows="model.encodings", columns="task", each="positions", metric="trained_length")
    tasks = ("copy", "reverse", "sort", "addition")
    axes = dict(
        encodings=("rope", "alibi", "nope", "t5_bias"),
        tasks=tasks,
        schemes=("contiguous", "shifted"),
    )
    folder = small(tmp_path, analysis={"tables": [table]}, **axes)
    contiguous, shifted = panels(drawn(folder)["table_1"])
    assert (contiguous.get_title(), shifted.get_title()) == ("contiguous", "shifted")
    study = frame.read(folder)
    medians = [sum(values(study, f"{task} · rope · shifted", 8)) / 2 for task in tasks]
    numbers = [text.get_text().rstrip("*‡†") for text in shifted.texts[:4]]
    assert numbers == [f"{value:.2f}" for value in medians]
    assert [t.get_text() for t in shifted.get_xticklabels()] == list(tasks)
    words = ["RoPE", "ALiBi", "NoPE", "T5 bias"]
    assert [t.get_text() for t in contiguous.get_yticklabels()] == words


def test_a_map_of_every_seed_has_the_medians_at_their_rows(drawn, tmp_path):
    table = dict(
        rows="model.encodings", columns="task", metric=dict(name="exact_match", at=2, show="seeds")
    )
    entries = []
    for index, encoding in enumerate(("rope", "alibi", "nope", "t5_bias")):
        for task in ("copy", "sort", "reverse", "addition"):
            for seed in (0, 1, 2):
                value = index / 4 + seed / 100
                run = record(f"{task}{encoding}{seed}", seed, test={8: value}, task=task)
                entries.append((point(encoding, seed, task=task), run))
    folder = write_study(tmp_path, *entries, analysis={"tables": [table]})
    (axis,) = panels(drawn(folder)["table_1"])
    names = [label.get_text() for label in axis.get_yticklabels()]
    assert names == ["RoPE", "ALiBi", "NoPE", "T5 bias"]
    assert axis.images[0].get_array()[:, 0].tolist() == [0.01, 0.26, 0.51, 0.76]


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
    analysis = {"tables": [table]}
    assert "table_1" not in drawn(small(tmp_path, analysis=analysis, tasks=("copy", "reverse")))
    assert not (tmp_path / "table_1.png").exists()


@pytest.mark.slow
def test_losses_are_logarithmic(drawn, tmp_path):
    table = dict(rows="task", columns="train.learning_rate", metric="in_distribution_loss")
    axes = dict(encodings=("rope",), tasks=("copy", "reverse"), rates=RATES)
    folder = small(tmp_path, analysis={"tables": [table]}, **axes)
    (axis,) = panels(drawn(folder)["table_1"])
    assert (axis.get_yscale(), axis.get_ylabel()) == ("log", "validation loss")
    assert len({line.get_color() for line in axis.lines}) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("test", "height"),
    [({4: 1.0, 8: 0.95, 16: 0.1}, 8), ({4: 1.0, 8: 1.0}, 8), ({4: 0.2, 8: 0.1}, 0)],
)
def test_the_longest_length_that_works_is_a_line_and_below_the_shortest_0(picture, test, height):
    figure, axis = picture("L90", [({}, [dict(test=test)])])
    assert dots(axis) == [(rate, height) for rate in (0.001, 0.002, 0.003)]
    assert [xy(line) for line in medians(axis)] == [([0.001, 0.002, 0.003], [height] * 3)]
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
def test_a_line_is_the_center_that_the_table_shows(picture, show, height, words):
    runs = [dict(test={4: value}) for value in (0.0, 0.1, 0.2, 0.6, 1.0)]
    figure, axis = picture(dict(name="exact_match", at=1, show=show), [({}, runs)])
    assert xy(medians(axis)[0])[1] == pytest.approx([height] * 3)
    assert caption(figure) == f"Lines: {words}; dots: single seeds."
    assert axis.get_ylabel() == "exact match"


def test_points_that_no_seed_solved_are_hollow(picture):
    runs = [dict(test={4: 0.5}, validation={4: 0.5})]
    figure, axis = picture(dict(name="exact_match", at=1), [({}, runs)])
    line, hollow = (line for line in axis.lines if line.get_zorder() >= 3)
    assert (hollow.get_markerfacecolor(), xy(hollow)) == ("white", xy(line))
    assert caption(figure).endswith("hollow marks: no seed solved the training lengths.")


@pytest.mark.slow
def test_axes_with_different_rows_share_the_legend_and_the_styles(picture):
    runs = [
        ({"positions": scheme, "task": task}, [dict(test={4: 0.5}, task=task)])
        for scheme, task in (("a", "copy"), ("b", "sort"), ("b", "copy"))
    ]
    figure, _ = picture("trained_length", runs, rows="task", each="positions")
    first, second = panels(figure)
    (copy,), (sort, copy_again) = map(colors, (first, second))
    assert copy == copy_again != sort
    assert legend(figure) == ["copy", "sort"]


BELOW = dict(test={4: 0.0}, tokens={4: 0.1}, chance_levels={4: 0.0})
ABOVE = dict(test={4: 0.4, 8: 0.6})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("metric", "run", "limits"),
    [
        # A token accuracy of 0.1 where chance has 0.5
        (dict(name="chance_corrected_token_accuracy", at=1), BELOW, (-0.84, 1.04)),
        # Exact match that is larger beyond training
        ("retention", ABOVE, (-0.04, 1.54)),
        ("log_auc", ABOVE, (-0.04, 1.04)),
    ],
)
def test_a_share_below_zero_and_one_above_one_are_inside_the_picture(picture, metric, run, limits):
    _, axis = picture(metric, [({}, [run])])
    assert axis.get_ylim() == pytest.approx(limits)
