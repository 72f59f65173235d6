import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot

from pe_lab.results import plots, results
from pe_lab.results.plots import drawing, styles
from tests.results import synthetic
from tests.results.fake_study import point, record, two_variants, write_study


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draws a study and gives its figures by name, of which none is written."""
    kept = {}
    monkeypatch.setattr(
        drawing,
        "save",
        lambda figure, files: (kept.update({files[0].stem: figure}), pyplot.close(figure)),
    )

    def draw(folder):
        paths = plots.write(results.load(folder), tmp_path)
        assert paths == [tmp_path / f"{name}.png" for name in kept]
        return kept

    return draw


def small(folder, **more):
    """Two encodings, two seeds, nothing else that varies."""
    return synthetic.write(
        folder,
        **{
            **dict(
                encodings=("rope", "alibi"), seeds=2, rates=(), tasks=(), schemes=(), offsets=(0,)
            ),
            **more,
        },
    )


def panels(figure):
    return [axis for axis in figure.axes if axis.axison]


def points(axis):
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in axis.lines]


def texts(figure):
    return " ".join(figure.get_suptitle().split())


def test_only_what_the_records_have_numbers_for_is_drawn(drawn, tmp_path):
    assert set(drawn(two_variants(tmp_path))) == {"exact_match", "heat_map", "extrapolation"}


def test_a_study_with_rates_offsets_curves_and_costs_has_all_pictures(drawn, tmp_path):
    folder = small(
        tmp_path, encodings=("nope", "t5_bias"), rates=("0.001", "0.003"), offsets=(0, 16)
    )
    more = {"length_by_offset", "cost", "training_exact_match", "training_loss", "learning_rate"}
    assert set(drawn(folder)) == {"exact_match", "heat_map", "extrapolation"} | more


def test_a_picture_without_numbers_is_taken_away(drawn, tmp_path):
    for suffix in (".png", ".pdf"):
        (tmp_path / f"learning_rate{suffix}").write_text("of another time")
    drawn(two_variants(tmp_path))
    assert not list(tmp_path.glob("learning_rate*"))


def test_a_panel_holds_a_line_a_run_their_median_and_the_training_length(drawn, tmp_path):
    rope, alibi = panels(drawn(two_variants(tmp_path))["exact_match"])
    assert points(rope) == [
        ([4, 8], [0.998, 0.4]),
        ([4, 4], [0, 1]),
        ([4, 8], [1.0, 0.5]),
        ([4, 8], [0.996, 0.3]),
        ([], []),
    ]
    assert points(alibi) == [([4], [0.5]), ([4, 4], [0, 1]), ([], []), ([4], [0.5])]
    assert [line.get_linestyle() for line in rope.lines] == ["-", "--", "-", "-", "-"]


def test_a_panel_says_how_many_runs_are_solved_and_is_grey_where_none_did(drawn, tmp_path):
    figures = drawn(two_variants(tmp_path))
    shown = [(a.get_title(), a.get_facecolor()[0] < 1) for a in panels(figures["exact_match"])]
    assert shown == [
        ("rope\n1/3 solved, 1 diverged", False),
        ("alibi\nNOT SOLVED 0/2, 1 failed", True),
    ]
    assert "without a record: 1 run" in texts(figures["exact_match"])


@pytest.mark.parametrize(("seeds", "band"), [(4, 0), (5, 1), (10, 1)])
def test_there_is_a_band_from_five_seeds_up(drawn, tmp_path, seeds, band):
    figure = drawn(small(tmp_path, encodings=("alibi",), seeds=seeds))["exact_match"]
    (axis,) = panels(figure)
    assert [len(c.get_paths()[0].vertices) > 4 for c in axis.collections if c.get_paths()] == [
        True
    ] * band
    assert ("under 5 seeds no interval" in texts(figure)) is not bool(band)


def test_an_encoding_has_its_colour_and_marker_in_every_picture(drawn, tmp_path):
    figures = drawn(small(tmp_path, encodings=("alibi",)))
    alibi = styles.of_name("alibi")
    for name in ("exact_match", "extrapolation", "training_exact_match", "training_loss"):
        colors = {line.get_color() for axis in panels(figures[name]) for line in axis.lines} - {
            "0.25",
            "0.5",
        }
        assert colors == {alibi.color}, name
    markers = {
        line.get_marker()
        for name in ("exact_match", "extrapolation")
        for axis in panels(figures[name])
        for line in axis.lines
    }
    assert markers - {"None"} == {alibi.marker}


def test_curves_beyond_the_training_length_are_dashed(drawn, tmp_path):
    axis, _ = panels(drawn(small(tmp_path, encodings=("alibi", "rope")))["training_exact_match"])
    assert [line.get_linestyle() for line in axis.lines] == ["-"] * 3 + [
        "--"
    ] * 3  # two seeds and their median, lengths 8 and 16


def test_the_rate_that_validation_chooses_is_marked(drawn, tmp_path):
    folder = small(tmp_path, encodings=("rope",), rates=("0.001", "0.003"))
    (axis,) = panels(drawn(folder)["learning_rate"])
    (chosen,) = [line for line in axis.lines if line.get_linestyle() == ":"]
    assert list(chosen.get_xdata()) == [0.003, 0.003]  # 0.001 learns 0.995


def test_other_pictures_show_what_was_chosen_alone(drawn, tmp_path):
    folder = small(
        tmp_path,
        encodings=("rope",),
        rates=("0.001", "0.003"),
        analysis={"tuned": ["train.learning_rate"]},
    )
    figures = drawn(folder)
    assert len(panels(figures["exact_match"])) == 1
    assert len(panels(figures["training_loss"])) == 2


def test_what_knows_the_targets_length_stands_apart_with_a_dagger_that_is_explained(
    drawn, tmp_path
):
    entries = [
        (point(n, 0), record(n, test={4: 1.0}, validation={4: 1.0}, reveals=n == "rope"))
        for n in ("rope", "alibi")
    ]
    figures = drawn(write_study(tmp_path, *entries))
    assert [axis.get_title() for axis in panels(figures["exact_match"])] == [
        "rope\u00a0†\n1/1 solved",
        "alibi\n1/1 solved",
    ]
    assert texts(figures["exact_match"]).endswith("† reveals the target length")
    assert [t.get_text() for t in figures["extrapolation"].axes[0].get_yticklabels()] == [
        "alibi",
        "rope\u00a0†",
    ]


def test_nothing_is_said_of_a_dagger_where_there_is_none(drawn, tmp_path):
    assert "†" not in texts(drawn(two_variants(tmp_path))["exact_match"])


def test_a_sweep_over_training_lengths_says_what_its_numbers_are(drawn, tmp_path):
    entries = [
        (
            point("rope", 0, **{"train.max_length": f"{n}"}),
            record(f"r{n}", test={4: 1.0}, max_length=n),
        )
        for n in (4, 8)
    ]
    figure = drawn(write_study(tmp_path, *entries))["exact_match"]
    assert [axis.get_title().partition("\n")[0] for axis in panels(figure)] == [
        "max_length=4",
        "max_length=8",
    ]
    assert [points(axis)[1] for axis in panels(figure)] == [([4, 4], [0, 1]), ([8, 8], [0, 1])]


def test_encodings_share_panels_where_there_are_many_variants(drawn, tmp_path, monkeypatch):
    monkeypatch.setattr("pe_lab.results.plots.panels.MOST", 5)
    figures = drawn(small(tmp_path, schemes=synthetic.SCHEMES))
    assert [axis.get_title() for axis in panels(figures["exact_match"])] == [
        "contiguous",
        "shifted",
        "randomized\u00a0†",
    ]
    assert {len(axis.lines) for axis in panels(figures["exact_match"])} == {
        4
    }  # two encodings and their training lengths
    (legend,) = figures["exact_match"].legends
    assert [text.get_text() for text in legend.get_texts()] == ["rope", "alibi"]


def test_a_missing_cell_of_a_map_is_a_dash_and_not_a_zero(drawn, tmp_path):
    axis = drawn(two_variants(tmp_path))["heat_map"].axes[0]
    assert [t.get_text() for t in axis.texts] == ["1.00", "0.40", "0.50", "–"]


def with_tables(tmp_path, *tables, **more):
    return small(tmp_path, analysis={"tables": list(tables)}, **more)


def test_a_table_of_the_spec_with_numbers_for_columns_is_lines_with_seeds_as_dots(drawn, tmp_path):
    by_rate = dict(rows="model.encodings", columns="train.learning_rate", metric="trained_length")
    folder = with_tables(tmp_path, by_rate, rates=("0.003", "0.001", "0.002"))
    (axis,) = panels(drawn(folder)["table_1"])
    runs = results.load(folder).variants
    alibi = {
        float(v.labels["train.learning_rate"]): v.values(8, 0)
        for v in runs
        if v.labels["model.encodings"] == "alibi"
    }
    dots, median = points(axis)[2:]
    assert dots == (
        [0.001, 0.001, 0.002, 0.002, 0.003, 0.003],
        [x for rate in sorted(alibi) for x in alibi[rate]],
    )
    assert median == ([0.001, 0.002, 0.003], [sum(alibi[rate]) / 2 for rate in sorted(alibi)])
    assert [line.get_color() for line in axis.lines[1::2]] == [
        styles.of_name(name).color for name in ("rope", "alibi")
    ]


def test_a_table_of_the_spec_of_names_is_a_map_for_each_value_of_what_is_left(drawn, tmp_path):
    table = dict(
        rows="model.encodings",
        columns="task",
        each="positions",
        metric=dict(name="exact_match", at=1.5),
    )
    folder = with_tables(
        tmp_path, table, tasks=("copy", "reverse"), schemes=("contiguous", "shifted")
    )
    contiguous, shifted, _ = drawn(folder)["table_1"].axes
    assert (contiguous.get_title(), shifted.get_title()) == ("contiguous", "shifted")
    found = {
        (v.labels["model.encodings"], v.labels["task"]): v
        for v in results.load(folder).variants
        if v.labels["positions"] == "shifted"
    }
    shown = [
        f"{sum(found[e, t].values(12, 0)) / 2:.2f}‡"
        for e in ("rope", "alibi")
        for t in ("copy", "reverse")
    ]
    assert [text.get_text() for text in shifted.texts] == shown
    assert [t.get_text() for t in shifted.get_xticklabels()] == ["copy", "reverse"]


def test_rows_that_are_no_encodings_are_grey_and_losses_logarithmic(drawn, tmp_path):
    table = dict(rows="task", columns="train.learning_rate", metric="in_distribution_loss")
    folder = with_tables(
        tmp_path,
        table,
        encodings=("rope",),
        tasks=("copy", "reverse"),
        rates=("0.001", "0.002", "0.003"),
    )
    (axis,) = panels(drawn(folder)["table_1"])
    assert axis.get_yscale() == "log"
    assert len({line.get_color() for line in axis.lines}) == 2
    assert styles.of_name("rope").color not in {line.get_color() for line in axis.lines}


RATES = ("0.001", "0.002", "0.003")


def by_rate(tmp_path, metric, runs, rows="model.encodings", **table):
    """A study of three learning rates, with one declared table; runs: (labels without the rate, records of one rate)."""
    entries = [
        (
            point(labels.pop("encoding", "rope"), i, **{"train.learning_rate": rate}, **labels),
            record(f"{rate}{n}{i}", i, **made),
        )
        for n, (own, seeds) in enumerate(runs)
        for rate in RATES
        for i, made in enumerate(seeds)
        for labels in [dict(own)]
    ]
    asked = dict(rows=rows, columns="train.learning_rate", metric=metric, **table)
    return write_study(tmp_path, *entries, analysis={"tables": [asked], "oracle": "Paper 2023"})


@pytest.mark.parametrize(
    ("test", "height"),
    [({4: 1.0, 8: 0.95, 16: 0.1}, 8), ({4: 1.0, 8: 1.0}, 8), ({4: 0.2, 8: 0.1}, 0)],
)
def test_the_longest_length_that_holds_is_a_line_and_below_the_shortest_0(
    drawn, tmp_path, test, height
):
    figure = drawn(by_rate(tmp_path, "L90", [({}, [dict(test=test)])]))["table_1"]
    assert points(panels(figure)[0]) == [([0.001, 0.002, 0.003], [height] * 3)] * 2
    assert "lines are medians of seeds, dots seeds; 0: not even at the shortest length" in texts(
        figure
    )


@pytest.mark.parametrize(
    ("show", "height", "words"),
    [
        ("median", 0.2, "medians of seeds"),
        ("seeds", 0.2, "medians of seeds"),
        ("mean", 0.38, "means of seeds"),
        ("iqm", 0.3, "interquartile means of seeds"),
        ("best", 1.0, "the best setting and seed, by the test"),
    ],
)
def test_a_line_is_the_centre_that_the_table_shows_and_is_called_so(
    drawn, tmp_path, show, height, words
):
    seeds = [dict(test={4: value}) for value in (0.0, 0.1, 0.2, 0.6, 1.0)]
    figure = drawn(by_rate(tmp_path, dict(name="exact_match", at=1, show=show), [({}, seeds)]))[
        "table_1"
    ]
    assert points(panels(figure)[0])[1][1] == pytest.approx([height] * 3)
    assert f"lines are {words}, dots seeds" in texts(figure)
    assert " ".join(figure.get_supylabel().split()) == "exact match at 1× the training length"


def test_panels_with_different_rows_have_one_legend_and_one_look_a_row(drawn, tmp_path):
    runs = [
        ({"positions": p, "task": t}, [dict(test={4: 0.5}, task=t)])
        for p, t in (("a", "copy"), ("b", "sort"), ("b", "copy"))
    ]
    figure = drawn(by_rate(tmp_path, "trained_length", runs, rows="task", each="positions"))[
        "table_1"
    ]
    first, second = panels(figure)
    looks = [
        {line.get_label(): (line.get_color(), line.get_marker()) for line in axis.lines[1::2]}
        for axis in (first, second)
    ]
    assert [list(each) for each in looks] == [["copy"], ["sort", "copy"]]
    assert looks[0]["copy"] == looks[1]["copy"] != looks[1]["sort"]
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["copy", "sort"]


def test_a_share_below_zero_and_one_above_one_are_inside_their_picture(drawn, tmp_path):
    """A token accuracy of 0.1 where chance has 0.5; an exact match that is larger beyond training."""
    below = [({}, [dict(test={4: 0.0}, tokens={4: 0.1}, chance_levels={4: 0.0})])]
    metric = dict(name="chance_corrected_token_accuracy", at=1)
    assert panels(drawn(by_rate(tmp_path / "a", metric, below))["table_1"])[
        0
    ].get_ylim() == pytest.approx((-0.84, 1.04))
    above = [({}, [dict(test={4: 0.4, 8: 0.6})])]
    assert panels(drawn(by_rate(tmp_path / "b", "retention", above))["table_1"])[
        0
    ].get_ylim() == pytest.approx((-0.04, 1.54))
    assert panels(drawn(by_rate(tmp_path / "c", "log_auc", above))["table_1"])[
        0
    ].get_ylim() == pytest.approx((-0.04, 1.04))


@pytest.mark.parametrize(
    ("most", "words"),
    [(2, "–: no number; *: no seed solved the training lengths"), (1, "white: no number")],
)
def test_signs_of_a_map_are_explained_where_its_cells_have_room_for_them(
    drawn, tmp_path, monkeypatch, most, words
):
    monkeypatch.setattr("pe_lab.results.plots.lengths.MOST_NUMBERS", most)
    entries = [
        (point("rope", 0, task=t), record(t, test={4: 0.5}, validation={4: 0.5}, task=t))
        for t in ("copy", "sort")
    ]
    table = dict(rows="model.encodings", columns="task", metric=dict(name="exact_match", at=1))
    figure = drawn(write_study(tmp_path, *entries, analysis={"tables": [table]}))["table_1"]
    assert texts(figure).endswith(f"medians of seeds; {words}")


@pytest.mark.parametrize(
    "table",
    [
        dict(rows="model.encodings", columns="task", metric="solved"),
        dict(measures=("steps", "flops")),
    ],
)
def test_counts_and_several_measures_stay_tables(drawn, tmp_path, table):
    (tmp_path / "table_1.png").write_text("of another time")
    assert "table_1" not in drawn(with_tables(tmp_path, table, tasks=("copy", "reverse")))
    assert not (tmp_path / "table_1.png").exists()


@pytest.mark.parametrize("most", [1, 2])
def test_costs_of_more_variants_than_can_be_told_apart_are_not_drawn(
    drawn, tmp_path, monkeypatch, most
):
    monkeypatch.setattr("pe_lab.results.plots.panels.MOST", most)
    assert ("cost" in drawn(small(tmp_path, encodings=("nope", "t5_bias")))) is (most == 2)


def test_runs_that_differ_in_seconds_alone_have_no_cost_plot(drawn, tmp_path):
    """Seconds measure the load of the machine."""
    entries = [(point(name, 0), record(name, test={4: 1.0, 8: 0.5})) for name in ("alibi", "rope")]
    for seconds, (_, made) in zip((5.0, 50.0), entries, strict=True):
        made["cost"] = {
            "steps": 10,
            "train_seconds": seconds,
            "train_flops": 1e9,
            "parameters": 100,
        }
    assert "cost" not in drawn(write_study(tmp_path, *entries))


def test_extrapolation_shows_the_counts_and_the_interval_of_wilson(drawn, tmp_path):
    solved, extrapolates = drawn(two_variants(tmp_path))["extrapolation"].axes
    assert [t.get_text() for t in solved.texts] == [
        "1/3",
        "0/1",
    ]  # one failed: nothing is known of it
    assert points(solved)[0][0] == pytest.approx([0.0615, 0.7923], abs=1e-4)
    assert [t.get_text() for t in extrapolates.texts] == ["0/3", "0/1"]


def test_a_pdf_is_written_on_request_only(tmp_path):
    study = results.load(two_variants(tmp_path))
    plots.write(study, tmp_path, pdf=True)
    assert {p.stem for p in tmp_path.glob("*.pdf")} == {p.stem for p in tmp_path.glob("*.png")}
    plots.write(study, tmp_path)
    assert not list(tmp_path.glob("*.pdf"))


@pytest.mark.full
def test_one_study_gives_the_same_files_to_the_last_byte(tmp_path):
    """As PNG and as PDF, and no figure stays open."""
    found = results.load(two_variants(tmp_path))
    pictures = []
    for _ in range(2):
        paths = plots.write(found, tmp_path, pdf=True)
        pictures.append(
            [path.with_suffix(suffix).read_bytes() for path in paths for suffix in (".png", ".pdf")]
        )
    assert pictures[0] == pictures[1]
    assert [picture[:4] for picture in pictures[0]] == [b"\x89PNG", b"%PDF"] * 3
    assert pyplot.get_fignums() == []


def test_nothing_is_drawn_before_a_run_has_finished(tmp_path):
    folder = write_study(
        tmp_path, (point("rope", 0), record("r", status="diverged")), (point("rope", 1), "s")
    )
    assert plots.write(results.load(folder), tmp_path) == []
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.parametrize(
    ("before", "after"), [("module://matplotlib_inline.backend_inline", "inline"), ("svg", "agg")]
)
def test_a_notebook_goes_on_showing_figures_and_all_else_needs_no_screen(before, after):
    pytest.importorskip("matplotlib_inline")
    matplotlib.use(before)
    try:
        drawing.pyplot()
        assert after in matplotlib.get_backend().lower()
    finally:
        matplotlib.use("Agg")
