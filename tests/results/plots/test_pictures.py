"""What a reader sees in the plots of a study: lines, colors, legends, axes and captions."""

import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot
from matplotlib.colors import to_hex

from pe_lab.results import frame, plots
from pe_lab.results.plots import drawing, pictures, plotted, styles
from pe_lab.runs import record_rows
from pe_lab.runs.errors import UserError
from tests.results import synthetic
from tests.results.fake_study import point, record, two_variants, write_study
from tests.results.plots.figures import caption, legend, panels, xy
from tests.results.test_changes import changed

TRAINING, CHANCE = "training length", "chance level"
NLL = "negative_log_likelihood"


def small(folder, **more):
    """Write a study of two encodings and two seeds, in which nothing else varies."""
    values = dict(
        encodings=("rope", "alibi"), seeds=2, rates=(), tasks=(), schemes=(), offsets=(0,)
    )
    return synthetic.write(folder, **{**values, **more})


def many(folder, count, reveals=0):
    """Write a study of more variants than colors; the last ones reveal the target length."""
    entries = [
        (
            point(f"mine_{i}", 0),
            record(
                f"r{i}",
                test={4: 1.0, 8: i / 100},
                validation={4: 1.0},
                reveals=i >= count - reveals,
            ),
        )
        for i in range(count)
    ]
    return write_study(folder, *entries)


def medians(axis):
    """The thick lines with their marks."""
    return [line for line in axis.lines if line.get_zorder() == 3]


def seeds(axis):
    return [line for line in axis.lines if line.get_linewidth() == 0.6]


def colors(axis):
    return [to_hex(line.get_color()) for line in medians(axis)]


def horizontal_or_vertical(axis, linestyle):
    return [xy(line) for line in axis.lines if line.get_linestyle() == linestyle]


def test_only_what_the_records_have_numbers_for_is_drawn(drawn, tmp_path):
    assert set(drawn(two_variants(tmp_path))) == {"exact_match", "extrapolation"}


@pytest.mark.slow
def test_a_study_with_rates_offsets_and_curves_has_all_pictures(drawn, tmp_path):
    folder = small(tmp_path, rates=("0.001", "0.003"), offsets=(0, 16))
    names = {"exact_match", "position_offset", "training", "learning_rate", "extrapolation"}
    assert set(drawn(folder)) == names


def test_a_picture_without_numbers_is_removed(drawn, tmp_path):
    for suffix in (".png", ".pdf"):
        (tmp_path / f"learning_rate{suffix}").write_text("old")
        (tmp_path / f"table_3{suffix}").write_text("old")
    drawn(two_variants(tmp_path))
    assert not [*tmp_path.glob("learning_rate*"), *tmp_path.glob("table_3*")]


def test_one_axes_has_the_median_and_the_seeds_of_each_variant(drawn, tmp_path):
    (axis,) = panels(drawn(two_variants(tmp_path))["exact_match"])
    assert [xy(line) for line in medians(axis)] == [([4, 8], [0.998, 0.4]), ([4], [0.5])]
    assert [xy(line) for line in seeds(axis)] == [
        ([4, 8], [1.0, 0.5]),
        ([4, 8], [0.996, 0.3]),
        ([4], [0.5]),
    ]


@pytest.mark.slow
def test_every_two_variants_differ_in_color_and_in_the_legend(drawn, tmp_path):
    folder = small(tmp_path, encodings=synthetic.ENCODINGS, schemes=synthetic.SCHEMES)
    figure = drawn(folder)["exact_match"]
    (axis,) = panels(figure)
    assert len(set(colors(axis))) == len(colors(axis)) == 15
    assert styles.GRAY not in colors(axis)
    names = legend(figure)
    assert len(set(names)) == len(names) == 15 + 3  # training length, chance level, †
    assert names[:3] == ["RoPE · contiguous", "RoPE · shifted", "RoPE · randomized †"]


def test_the_legend_says_how_many_runs_are_solved_where_some_are_not(drawn, tmp_path):
    figure = drawn(two_variants(tmp_path))["exact_match"]
    names = ["RoPE (1/3 solved)", "ALiBi (0/2 solved)", TRAINING, CHANCE]
    assert legend(figure) == names
    faces = [line.get_markerfacecolor() for line in medians(figure.axes[0])]
    assert faces == [styles.PALETTE[0], "white"]
    assert caption(figure).endswith("hollow marks: no seed solved the training lengths.")


def test_the_training_length_and_the_chance_level_are_drawn(drawn, tmp_path):
    (axis,) = panels(drawn(two_variants(tmp_path))["exact_match"])
    assert horizontal_or_vertical(axis, ":") == [([4, 4], [0, 1])]
    # Two runs differ at length 4 in their chance level; the higher one is drawn.
    assert horizontal_or_vertical(axis, "--") == [([4, 8], [0.2, 0.0])]


def test_a_text_is_not_solved_and_has_no_chance_level():
    data = plotted.of(frame.read("results/published/story_translation"))
    figure = pictures.by_length(data)
    pyplot.close(figure)
    names = legend(figure)
    assert names == ["sinusoidal", "learned", "learned, init std 0.7", TRAINING]


def test_axes_have_words_and_units(drawn, tmp_path):
    figure = drawn(two_variants(tmp_path))["exact_match"]
    (axis,) = panels(figure)
    assert figure.get_suptitle() == "Exact match against length"
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("length (symbols)", "exact match")
    assert axis.get_ylim() == (-0.04, 1.04)


def test_relative_lengths_are_on_a_log_axis_with_each_training_length_at_1(drawn, tmp_path):
    entries = [
        (
            point("rope", 0, **{"train.max_length": f"{n}"}),
            record(f"r{n}", test={n: 1.0, 2 * n: 0.5, 4 * n: 0.0}, max_length=n),
        )
        for n in (4, 8)
    ]
    folder = write_study(tmp_path, *entries)
    (axis,) = panels(drawn(folder, relative=True)["exact_match"])
    assert [xy(line) for line in medians(axis)] == [([1, 2, 4], [1.0, 0.5, 0.0])] * 2
    assert (axis.get_xscale(), axis.get_xlabel()) == ("log", "length / training length")
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1×", "2×", "4×"]
    assert horizontal_or_vertical(axis, ":") == [([1, 1], [0, 1])]
    absolute = drawn(folder)["exact_match"]
    assert [places for places, _ in horizontal_or_vertical(panels(absolute)[0], ":")] == [
        [4, 4],
        [8, 8],
    ]
    assert legend(absolute)[:2] == ["max length 4 (0/1 solved)", "max length 8 (0/1 solved)"]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "has_bands"), [(4, False), (5, True), (10, True)])
def test_five_seeds_and_more_have_an_interval_in_place_of_their_lines(
    drawn, tmp_path, count, has_bands
):
    figure = drawn(small(tmp_path, encodings=("alibi",), seeds=count))["exact_match"]
    (axis,) = panels(figure)
    assert len(axis.collections) == has_bands
    assert len(seeds(axis)) == (0 if has_bands else count)
    assert ("bands: 95 % intervals; dots: single seeds" in caption(figure)) is has_bands
    dots = [line for line in axis.lines if line.get_marker() == "."]
    assert [len(xy(line)[0]) for line in dots] == [count * len(synthetic.LENGTHS)] * has_bands
    center = "interquartile mean" if count == 10 else "median"
    assert caption(figure).startswith(f"Thick lines: {center} over seeds")


def test_a_variant_has_its_color_and_marker_in_every_picture(drawn, tmp_path):
    figures = drawn(small(tmp_path, offsets=(0, 16)))
    looks = [
        [(to_hex(line.get_color()), line.get_marker()) for line in medians(panels(figure)[0])]
        for name, figure in figures.items()
        if name in ("exact_match", "position_offset", "training")
    ]
    assert looks == [list(zip(styles.PALETTE[:2], "os", strict=True))] * 3
    solved, _ = figures["extrapolation"].axes
    dots = [to_hex(line.get_color()) for line in solved.lines if line.get_marker() == "o"]
    assert dots == list(styles.PALETTE[:2])


@pytest.mark.slow
def test_of_many_variants_the_best_have_colors_and_the_others_are_gray(drawn, tmp_path):
    figure = drawn(many(tmp_path, 20))["exact_match"]
    (axis,) = panels(figure)
    assert colors(axis) == list(styles.PALETTE[:8])
    gray = [line for line in axis.lines if to_hex(line.get_color()) == styles.GRAY]
    assert len(gray) == 12
    assert legend(figure)[:9] == [*(f"mine {i}" for i in range(12, 20)), "12 others"]
    assert caption(figure).endswith("colors: the 8 best on average.")


@pytest.mark.slow
def test_many_variants_that_reveal_the_target_length_have_an_axes_of_their_own(drawn, tmp_path):
    unknown, revealed = panels(drawn(many(tmp_path, 20, reveals=8))["exact_match"])
    assert unknown.get_title() == "target length unknown"
    assert revealed.get_title() == "target length revealed"
    assert (len(set(colors(unknown))), len(set(colors(revealed)))) == (12, 8)


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
    entries = []
    for name in names:
        run = record(name, test={4: 1.0, 8: 0.5}, validation={4: 1.0})
        entries.append((point(name, 0), changed(run, "linear", {4: 0.5})))
    figure = drawn(write_study(tmp_path, *entries))["exact_match"]
    trained, with_override = panels(figure)
    assert (trained.get_title(), with_override.get_title()) == ("as trained", "with linear")
    assert colors(trained) == colors(with_override)
    assert len(set(colors(trained))) == 5
    assert {xy(line)[1][0] for line in medians(trained)} == {1.0}
    assert {xy(line)[1][0] for line in medians(with_override)} == {0.5}
    assert legend(figure) == ["RoPE", "ALiBi", "shaw", "T5 bias", "FIRE", TRAINING]


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
    explained = "† reveals the target length"
    assert legend(figures["exact_match"]) == ["RoPE †", "ALiBi", TRAINING, explained]
    solved, _ = figures["extrapolation"].axes
    assert [t.get_text() for t in solved.get_yticklabels()] == ["ALiBi", "RoPE\u00a0†"]
    assert caption(figures["extrapolation"]).endswith(f"{explained}.")


def test_offsets_are_drawn_at_the_training_length(drawn, tmp_path):
    test = {(4, 0): 1.0, (4, 2): 0.5, (4, 9): 0.25, (8, 0): 0.0}
    run = record("r", 0, test=test, chance_levels={4: 0.1, 8: 0.0})
    figure = drawn(write_study(tmp_path, (point("rope", 0), run)))["position_offset"]
    (axis,) = panels(figure)
    assert [xy(line) for line in medians(axis)] == [([0, 1, 2], [1.0, 0.5, 0.25])]
    assert [text.get_text() for text in axis.get_xticklabels()] == ["0", "2", "9"]
    assert [y for _, y in horizontal_or_vertical(axis, "--")] == [[0.1, 0.1]]
    assert axis.get_xlabel() == "position offset (positions)"


def test_training_shows_the_longest_trained_length(drawn, tmp_path):
    folder = small(tmp_path, encodings=("alibi",), seeds=1)
    (axis,) = panels(drawn(folder)["training"])
    # The curves of the study have the lengths 8 and 16, and training ends at 8.
    assert [xy(line) for line in medians(axis)] == [
        ([0, 200, 400, 600, 800], [0.0, 0.25, 0.5, 0.75, 1.0])
    ]
    assert axis.get_xlabel() == "training step"


def test_the_rate_that_validation_chooses_has_a_circle(drawn, tmp_path):
    folder = small(tmp_path, encodings=("rope",), rates=("0.001", "0.003"))
    within, beyond = panels(drawn(folder)["learning_rate"])
    for axis in (within, beyond):
        (circle,) = [line for line in axis.lines if line.get_markersize() == 9]
        assert list(circle.get_xdata()) == [0.003]  # 0.001 reaches 0.995 only
    assert within.get_title() == "Up to the training length"
    assert beyond.get_title() == "At 2× the training length"
    assert within.get_xscale() == "log"


def test_each_task_has_axes_of_the_learning_rate_and_a_variant_looks_the_same_in_all(
    drawn, tmp_path
):
    folder = small(tmp_path, rates=("0.001", "0.003"), tasks=("copy", "reverse"))
    figure = drawn(folder)["learning_rate"]
    axes = panels(figure)
    assert [axis.get_title().splitlines()[0] for axis in axes] == [
        *["copy"] * 2,
        *["reverse"] * 2,
    ]
    assert legend(figure) == ["RoPE", "ALiBi"]
    first, *others = [colors(axis) for axis in axes]
    assert len(first) == 2
    assert others == [first] * 3


def test_the_chosen_rate_has_a_circle_when_it_has_more_seeds(drawn, tmp_path):
    """As after a tuning in two stages: the other rate has the first seed alone."""
    entries = []
    for rate, seed in (("0.001", 0), ("0.003", 0), ("0.001", 1)):
        run = record(f"{rate}{seed}", seed, test={4: 1.0}, validation={4: 1.0})
        loss = 100 * float(rate)
        run["rows"].append(record_rows.row("validation", 4, 0, NLL, loss, 100))
        entries.append((point("rope", seed, **{"train.learning_rate": rate}), run))
    within, _ = panels(drawn(write_study(tmp_path, *entries))["learning_rate"])
    assert [xy(line) for line in within.lines if line.get_markersize() == 9] == [([0.001], [1.0])]


def test_other_pictures_show_the_chosen_rates_only(drawn, tmp_path):
    folder = small(
        tmp_path,
        encodings=("rope",),
        rates=("0.001", "0.003"),
        analysis={"tuned": ["train.learning_rate"]},
    )
    figures = drawn(folder)
    assert len(medians(panels(figures["exact_match"])[0])) == 1
    assert len(medians(panels(figures["training"])[0])) == 1


def test_counts_have_the_interval_of_wilson(drawn, tmp_path):
    solved, extrapolates = drawn(two_variants(tmp_path))["extrapolation"].axes
    # A run that failed has no outcome.
    assert [t.get_text() for t in solved.texts] == ["1/3", "0/1"]
    assert list(solved.lines[0].get_xdata()) == pytest.approx([0.0615, 0.7923], abs=1e-4)
    assert [t.get_text() for t in extrapolates.texts] == ["0/3", "0/1"]
    words = "Extrapolates: solved, with an exact match of at least 0.9 at 2× the training length"
    assert " ".join(extrapolates.get_title().split()) == words


@pytest.mark.slow
@pytest.mark.parametrize("count", [30, 31])
def test_counts_of_more_variants_than_a_page_has_rows_are_left_to_the_table(drawn, tmp_path, count):
    assert ("extrapolation" in drawn(many(tmp_path, count))) is (count == 30)


@pytest.mark.slow
def test_no_text_is_smaller_than_seven_points(drawn, tmp_path):
    folder = small(tmp_path, rates=("0.001", "0.003"), offsets=(0, 16))
    for figure in drawn(folder).values():
        assert figure.get_size_inches()[0] == 6.8
        figure.draw_without_rendering()
        texts = [t for t in figure.findobj(matplotlib.text.Text) if t.get_text().strip()]
        assert min(text.get_fontsize() for text in texts) >= 7


@pytest.mark.slow
def test_a_format_is_written_on_request_only(tmp_path):
    two_variants(tmp_path)
    names = {"exact_match", "extrapolation"}
    plots.write(frame.read(tmp_path), tmp_path, formats=("png", "pdf", "svg"))
    for suffix in ("png", "pdf", "svg"):
        assert {path.stem for path in tmp_path.glob(f"*.{suffix}")} == names
    plots.write(frame.read(tmp_path), tmp_path)
    assert {path.stem for path in tmp_path.glob("*.png")} == names
    assert not [*tmp_path.glob("*.pdf"), *tmp_path.glob("*.svg")]


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(UserError, match="formats has no 'jpg'"):
        plots.write(frame.read(two_variants(tmp_path)), tmp_path, formats=("jpg",))


@pytest.mark.full
def test_the_same_records_give_the_same_bytes(tmp_path):
    two_variants(tmp_path)
    first, again = (
        [
            path.read_bytes()
            for path in plots.write(frame.read(tmp_path), tmp_path, formats=drawing.FORMATS)
        ]
        for _ in range(2)
    )
    assert first == again
    assert [content[:4] for content in first[:2]] == [b"\x89PNG", b"%PDF"]
    assert pyplot.get_fignums() == []


def test_nothing_is_drawn_before_a_run_has_finished(tmp_path):
    folder = write_study(
        tmp_path, (point("rope", 0), record("r", status="diverged")), (point("rope", 1), "s")
    )
    assert plots.write(frame.read(folder), folder) == []
    assert not list(tmp_path.glob("*.png"))


@pytest.mark.parametrize(
    ("before", "after"), [("module://matplotlib_inline.backend_inline", "inline"), ("svg", "agg")]
)
def test_a_notebook_keeps_its_backend_and_all_else_needs_no_screen(before, after):
    pytest.importorskip("matplotlib_inline")
    matplotlib.use(before)
    try:
        drawing.pyplot()
        assert after in matplotlib.get_backend().lower()
    finally:
        matplotlib.use("Agg")
