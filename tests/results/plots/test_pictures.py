"""A study has the pictures that its records allow, with their axes, lines and formats."""

import itertools

import matplotlib
import pandas as pd
import pytest
from matplotlib import pyplot

from pe_lab.results import frame, plots
from pe_lab.results.plots import drawing, intervals, lines, pictures, plotted
from pe_lab.runs.errors import UserError
from tests.results import synthetic
from tests.results.fake_study import point, record, two_variants, write_study
from tests.results.plots.figures import caption, dots, legend, panels, xy
from tests.results.plots.small_studies import TRAINING, medians, small


def seeds(axis):
    return [line for line in axis.lines if line.get_linewidth() == 0.6]


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
    (tmp_path / "by_hand.png").write_text("of the user")
    drawn(two_variants(tmp_path))
    assert not [*tmp_path.glob("learning_rate*"), *tmp_path.glob("table_3*")]
    assert (tmp_path / "by_hand.png").read_text() == "of the user"


def test_the_axes_has_the_median_and_the_seeds_of_each_variant_words_and_units(drawn, tmp_path):
    figure = drawn(two_variants(tmp_path))["exact_match"]
    (axis,) = panels(figure)
    assert figure.get_suptitle() == "Exact match against length"
    assert (axis.get_xlabel(), axis.get_ylabel()) == ("length (symbols)", "exact match")
    assert axis.get_ylim() == (-0.04, 1.04)
    assert [xy(line) for line in medians(axis)] == [([4, 8], [0.998, 0.4]), ([4], [0.5])]
    assert [xy(line) for line in seeds(axis)] == [
        ([4, 8], [1.0, 0.5]),
        ([4, 8], [0.996, 0.3]),
        ([4], [0.5]),
    ]
    # The training length, and the chance level.
    assert horizontal_or_vertical(axis, ":") == [([4, 4], [0, 1])]
    # Two runs differ at length 4 in their chance level; the higher one is drawn.
    assert horizontal_or_vertical(axis, "--") == [([4, 8], [0.2, 0.0])]


def test_a_text_is_not_solved_and_has_no_chance_level():
    data = plotted.of(frame.read("results/published/story_translation"))
    figure = pictures.by_length(data)
    pyplot.close(figure)
    names = legend(figure)
    assert names == ["sinusoidal", "learned", "learned, init std 0.7", TRAINING]


def test_relative_lengths_are_on_a_log_axis_with_each_training_length_at_1(drawn, tmp_path):
    entries = []
    for n in (4, 8):
        test, levels = {n: 1.0, 2 * n: 0.5, 4 * n: 0.0}, {n: 0.1, 4 * n: 0.0}
        run = record(f"r{n}", test=test, chance_levels=levels, max_length=n)
        entries.append((point("rope", 0, **{"train.max_length": f"{n}"}), run))
    folder = write_study(tmp_path, *entries)
    (axis,) = panels(drawn(folder, relative=True)["exact_match"])
    assert [xy(line) for line in medians(axis)] == [([1, 2, 4], [1.0, 0.5, 0.0])] * 2
    assert (axis.get_xscale(), axis.get_xlabel()) == ("log", "length / training length")
    assert [text.get_text() for text in axis.get_xticklabels()] == ["1×", "2×", "4×"]
    assert horizontal_or_vertical(axis, ":") == [([1, 1], [0, 1])]
    assert horizontal_or_vertical(axis, "--") == [([1, 2, 4, 8], [0.1, 0.1, 0.0, 0.0])]
    absolute = drawn(folder)["exact_match"]
    trained = horizontal_or_vertical(panels(absolute)[0], ":")
    assert trained == [([4, 4], [0, 1]), ([8, 8], [0, 1])]
    assert legend(absolute)[:2] == ["max length 4 (0/1 solved)", "max length 8 (0/1 solved)"]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "has_bands"), [(4, False), (5, True), (10, True)])
def test_an_interval_replaces_the_lines_of_five_seeds_and_more(drawn, tmp_path, count, has_bands):
    figure = drawn(small(tmp_path, encodings=("alibi",), seeds=count))["exact_match"]
    (axis,) = panels(figure)
    assert len(axis.collections) == has_bands
    assert len(seeds(axis)) == (0 if has_bands else count)
    assert ("bands: 95 % intervals; dots: single seeds" in caption(figure)) is has_bands
    assert len(dots(axis)) == count * len(synthetic.LENGTHS) * has_bands
    center = "interquartile mean" if count == 10 else "median"
    assert caption(figure).startswith(f"Thick lines: {center} over seeds")


def test_dots_of_one_height_are_side_by_side_in_rows_of_a_limited_width():
    values = pd.DataFrame(dict(x=1, y=[1.0] * 100 + [0.0, 0.0, 0.5]))
    places = lines._side_by_side(values, "x", "y", 0.02)
    assert (places[:100].nunique(), places[:100].max()) == (100, 4.455)
    assert places[100:].tolist() == [-0.5, 0.5, 0.0]


@pytest.mark.slow
def test_intervals_of_shares_lie_between_0_and_1():
    for seeds in (5, 9, 10, 30):
        for share in (0, 0.1, 0.9, 1):
            runs = [dict(variant="a", run_id=str(i), length=8, value=float(i < share * seeds))
                    for i in range(seeds)]  # fmt: skip
            axis = lines.lines(pd.DataFrame(runs))
            counts = pd.DataFrame(dict(successes=[round(share * seeds)], total=[seeds]), ["a"])
            shares = intervals.intervals(counts)
            band = axis.collections[0].get_paths()[0].vertices[:, 1]
            bar = shares.lines[0].get_xdata()
            pyplot.close("all")
            for ends in (band, bar):
                assert 0 <= min(ends) <= max(ends) <= 1


@pytest.mark.slow
def test_titles_of_panels_do_not_touch(drawn, tmp_path):
    """Nine tasks with long names, of four axes in a row."""
    tasks = [f"aligned_text(num_symbols={i}, max_width=1000)" for i in range(10)]
    figure = drawn(small(tmp_path, tasks=tasks, seeds=1))["exact_match"]
    drawing._lay_out(figure)
    boxes = [axis.title.get_window_extent() for axis in panels(figure)]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.x1 for box in boxes)


@pytest.mark.slow
def test_the_legend_does_not_touch_the_panels(tmp_path):
    with drawing.settings():
        figure, (_, right) = drawing.grid(2, columns=2, height=1.8)
        for number in (1, 2):
            right.plot([0, 1], [0, 1], label=f"T5 bias(32, 128), by layer {number}")
        drawing.legend(figure)
        drawing.save(figure, [tmp_path / "drawn.png"])
        gap = figure.legends[0].get_window_extent().x0 - right.get_window_extent().x1
    assert gap > 0.05 * 200  # 0.05 inches in a file


def test_panels_of_a_column_have_one_label(drawn, tmp_path):
    figure = drawn(small(tmp_path, tasks=("copy", "reverse", "sort"), seeds=1))["exact_match"]
    labels = [axis.get_xlabel() for axis in panels(figure)]
    # The second column has one row, and an empty place below.
    assert labels == ["", "length (symbols)", "length (symbols)"]


def test_a_label_of_the_bottom_is_kept_above_other_labels():
    figure, column = pyplot.subplots(3, 1)
    for axes, label in zip(column, ("length", "steps", "length"), strict=True):
        axes.set_xlabel(label)
    drawing.titles(figure, "Three panels")
    assert [axes.get_xlabel() for axes in column] == ["length", "steps", "length"]
    pyplot.close(figure)


@pytest.mark.parametrize(
    ("count", "columns"), [(1, 1), (2, 2), (4, 2), (5, 3), (6, 3), (7, 4), (8, 4), (9, 3)]
)
def test_panels_have_few_empty_places(count, columns):
    names = [str(number) for number in range(count)]
    figure, grid = pictures.grid_of([plotted.Panel(name, name, [], ()) for name in names])
    assert len({axes.get_subplotspec().colspan.start for axes in grid}) == columns
    pyplot.close(figure)


def test_the_first_share_is_at_the_top():
    counts = pd.DataFrame(dict(successes=[1, 2, 3], total=[3, 3, 3]), ["a", "b", "c"])
    axes = intervals.intervals(counts)
    assert axes.get_ylim() == (2.5, -0.5)
    pyplot.close("all")


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
    (line,) = medians(axis)
    assert xy(line) == ([0, 200, 400, 600, 800], [0.0, 0.25, 0.5, 0.75, 1.0])
    assert axis.get_xlabel() == "training step"


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
    study = frame.read(two_variants(tmp_path))
    for formats in (("png", "pdf", "svg"), ("png",)):
        plots.write(study, tmp_path, formats=formats)
        drawn = [path.name for suffix in drawing.FORMATS for path in tmp_path.glob(f"*.{suffix}")]
        names = itertools.product(("exact_match", "extrapolation"), formats)
        assert set(drawn) == {".".join(name) for name in names}


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(UserError, match="formats has no 'jpg'"):
        plots.write(frame.read(two_variants(tmp_path)), tmp_path, formats=("jpg",))
    with pytest.raises(UserError, match="The plots need a format, such as png"):
        plots.write(frame.read(two_variants(tmp_path)), tmp_path, formats=())


@pytest.mark.full
def test_the_same_records_give_the_same_bytes(tmp_path):
    study = frame.read(two_variants(tmp_path))

    def contents():
        paths = plots.write(study, tmp_path, formats=drawing.FORMATS)
        return [path.read_bytes() for path in paths]

    first = contents()
    assert contents() == first
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
