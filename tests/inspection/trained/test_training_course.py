"""A run through its training: kept states whose numbers are known, and pictures of rows that are."""

import dataclasses
import itertools
import json

import jax
import numpy as np
import pytest

from pe_lab.inspection.trained import captions, findings, run_report, training_course
from pe_lab.inspection.trained.findings import AFTER, BEFORE, TrainingCourse
from pe_lab.inspection.trained.pictures import LINES
from pe_lab.results.plots.drawing import SUFFIXES
from tests import models
from tests.inspection.trained.untrained_run import finished

CURVE = [
    {"step": step, "loss": None, "exact_match": {"3": v, "5": v / 2}, "scale_ratio": []}
    for step, v in ((0, 0.0), (6, 0.98), (12, 1.0))
]
AT = "step", "length"


@pytest.fixture(scope="module")
def found():
    """Kept at the start, at the end, and between them once with all tokens alike."""
    start = finished("sinusoidal", "alibi", evaluate__num_examples=4)
    end = models.moved(start.params)
    blind = jax.tree_util.tree_map_with_path(
        lambda path, leaf: 0 * leaf if "embedding" in jax.tree_util.keystr(path) else leaf,
        start.params,
    )
    run = dataclasses.replace(start, params=end, record={**start.record, "curve": CURVE})
    return findings.find(run, (3, 5), kept=iter([(0, start.params), (6, blind), (12, end)]))


def bare(rows, *, without=("when", *AT), **asked):
    return [
        {k: v for k, v in row.items() if k not in without}
        for row in rows
        if all(row[k] == v for k, v in asked.items())
    ]


@pytest.mark.full
@pytest.mark.parametrize(("step", "when"), [(0, BEFORE), (12, AFTER)])
def test_the_first_and_the_last_kept_state_are_those_before_and_after_training(found, step, when):
    for what in ("terms", "attention", "input"):
        rows, ends = getattr(found.through, what), getattr(found, what)
        assert bare(rows, step=step) == bare(ends, when=when, length=3)
        assert bare(rows, step=step) != bare(rows, step=6)
        assert {row["step"]: row["length"] for row in rows} == {0: 3, 6: 3, 12: 3}


@pytest.mark.full
def test_where_all_tokens_are_alike_all_is_place(found):
    for row in found.through.terms:
        if row["step"] == 6:
            assert [row[term] for term in ("cc", "cp", "pc", "pp")] == pytest.approx(
                [0, 0, 0, 1], abs=1e-6
            )


@pytest.mark.full
def test_it_is_solved_where_the_curve_first_has_the_threshold_up_to_the_training_length(found):
    assert (found.through.threshold, found.through.solved_at) == (
        0.99,
        12,
    )  # not at step 6; length 5 has not and does not count
    assert found.through.curve == [
        {"step": p["step"], "exact_match": p["exact_match"]} for p in CURVE
    ]
    assert findings._solved_at(finished().setup, CURVE[:2]) is None
    assert findings._solved_at(finished().setup, [{"step": 0, "exact_match": {"5": 1.0}}]) is None
    thrice = dict.fromkeys("123", 0.99)  # whose mean is a little less
    assert findings._solved_at(finished().setup, [{"step": 6, "exact_match": thrice}]) == 6


@pytest.mark.full
def test_the_caption_tells_a_run_that_did_not_learn_from_one_that_was_not_asked(found):
    def says(curve):
        return captions.params_through_training(
            dataclasses.replace(
                found, through=dataclasses.replace(found.through, curve=curve, solved_at=None)
            )
        )

    assert "No point of this run's curve does." in says(CURVE[:2])
    for curve in ([], [{"step": 0, "exact_match": {"5": 1.0}}]):  # trained up to length 3
        assert "curve has no length up to that one, so it does not say whether it did." in says(
            curve
        )


@pytest.mark.full
def test_the_page_shows_both_pictures_with_a_row_a_step_and_layer(found, tmp_path):
    drawn = training_course.draw(found, tmp_path)
    stems = ["trained_through_training", "trained_through_training_input"]
    assert list(drawn.values()) == stems
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{stem}{suffix}" for stem in stems for suffix in SUFFIXES
    }
    page = run_report.page(found, drawn)
    assert all(f"]({stem}.png)" in page for stem in stems)
    assert captions.params_through_training(found) in page
    assert "reaches 0.99. This run first does at step 12, the dashed line." in page
    assert captions.INPUT_THROUGH_TRAINING in page
    assert captions.NOT_KEPT not in page
    assert "## What is not here" not in page
    table = [line.split("|")[1:3] for line in run_report.through_steps(found).splitlines()[2:]]
    assert [[cell.strip() for cell in cells] for cells in table] == [
        [s, f"decoder {layer}"] for s in ("0", "6", "12") for layer in (1, 2)
    ]
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["through"]["solved_at"] == 12


@pytest.mark.full
def test_where_nothing_was_kept_the_page_says_how_to_keep_it(found, tmp_path):
    none = dataclasses.replace(found, through=TrainingCourse([], [], [], [], 0.99, None))
    assert training_course.draw(none, tmp_path) == {}
    page = run_report.page(none, {})
    assert "`--config.checkpoints.keep_curve`" in captions.NOT_KEPT in page
    assert "## Through training" not in page


def of(num_heads, num_layers=2, solved_at=10, entropy=None):
    """Rows whose shares of layer 1 go from 0.1, 0.2, 0.3, 0.4 to the reverse, and whose heads have numbers of their own."""
    place = [
        {"step": step, "length": 8, "attention": "decoder", "layer": layer, "head": head}
        for step, layer, head in itertools.product(
            (0, 10), range(1, num_layers + 1), range(1, num_heads + 1)
        )
    ]
    ways = {0: (0.1, 0.2, 0.3, 0.4), 10: (0.4, 0.3, 0.2, 0.1)}
    terms = [
        row | dict(zip(("cc", "cp", "pc", "pp"), ways[row["step"]], strict=True)) for row in place
    ]
    attention = [
        row | {"aligned": row["head"] / 100, "by_chance": 0.5, "entropy": entropy} for row in place
    ]
    curve = [
        {"step": 0, "exact_match": {"8": 0.0, "16": 0.0}},
        {"step": 10, "exact_match": {"8": 1.0, "16": 0.25}},
    ]
    return TrainingCourse(terms, attention, [], curve, 0.99, solved_at)


@pytest.fixture
def drawn():
    """Makes the figure of some rows, to be read again, and closes it at the end."""
    from matplotlib import pyplot

    yield lambda *args, **sizes: np.array(
        training_course._layers(of(*args, **sizes), 8).axes
    ).reshape(-1, sizes.get("num_layers", 2))
    pyplot.close("all")


def line(axis, label):
    (found,) = (line for line in axis.lines if line.get_label() == label)
    return found.get_xdata(), found.get_ydata()


def test_areas_are_stacked_from_content_to_place_and_every_head_has_its_line(drawn):
    axes = drawn(2)
    assert axes.shape == (
        3,
        2,
    )  # shares, attention on the named token, exact match; nobody has an entropy
    tops = [
        {tuple(v) for v in np.round(area.get_paths()[0].vertices, 9).tolist()}
        for area in axes[0, 0].collections
    ]
    assert all((0, top) in area for area, top in zip(tops, (0.1, 0.3, 0.6, 1.0), strict=True))
    assert all((10, top) in area for area, top in zip(tops, (0.4, 0.7, 0.9, 1.0), strict=True))
    np.testing.assert_array_equal(line(axes[1, 1], "head 2"), [[0, 10], [0.02, 0.02]])
    np.testing.assert_array_equal(line(axes[1, 1], "all keys alike"), [[0, 10], [0.5, 0.5]])


def test_exact_match_is_below_every_layer_and_the_step_of_solving_in_every_panel(drawn):
    axes = drawn(2)
    for axis in axes[-1]:
        np.testing.assert_array_equal(line(axis, "length 8"), [[0, 10], [0, 1]])
        np.testing.assert_array_equal(line(axis, "length 16"), [[0, 10], [0, 0.25]])
    dashed = [
        [line.get_xdata() for line in axis.lines if line.get_linestyle() == "--"]
        for axis in axes.flat
    ]
    assert dashed == [[[10, 10]]] * 6
    assert not [
        line
        for axis in drawn(2, solved_at=None).flat
        for line in axis.lines
        if line.get_linestyle() == "--"
    ]


def test_the_legend_names_everything_once_and_areas_as_they_lie(drawn):
    axes = drawn(2, entropy=0.5)
    legends = np.vectorize(lambda axis: axis.get_legend() is not None)(axes)
    assert legends.tolist() == [
        [False, True],
        [False, True],
        [False, False],
        [False, True],
    ]  # the third row has the heads of the second
    shares, heads, solved = (
        [text.get_text() for text in axis.get_legend().get_texts()] for axis in axes[[0, 1, 3], 1]
    )
    names = ["place × place", "place × content", "content × place", "content × content"]
    assert [name.splitlines()[0] for name in shares] == names
    assert (heads, solved) == (
        ["head 1", "head 2", "all keys alike"],
        ["length 8", "length 16", "first solved"],
    )


def test_of_more_heads_than_there_are_colours_the_mean_is_drawn(drawn):
    axes = drawn(len(LINES) + 1, num_layers=1)
    np.testing.assert_allclose(line(axes[1, 0], "mean over heads")[1], [0.04, 0.04])
    names = [text.get_text() for text in axes[1, 0].get_legend().get_texts()]
    assert names == ["each head", "mean over heads", "all keys alike"]


@pytest.mark.full
def test_token_and_code_are_drawn_beside_what_to_compare_them_with(found, drawn):
    panels = training_course._input(found.through.input).axes
    pairs = [("rms of the code", "rms of code"), ("rms", "rms cosine"), ("overlap", "overlap")]
    pairs += [
        ("rms of the token", "rms of token"),
        ("of random directions", "rms cosine of random directions"),
        ("by chance", "overlap by chance"),
    ]
    for axis, (label, key) in zip([*panels, *panels], pairs, strict=True):
        np.testing.assert_array_equal(
            line(axis, label), [[0, 6, 12], [row[key] for row in found.through.input]]
        )


def test_what_has_no_numbers_is_left_out(drawn):
    rows = of(1, num_layers=1)
    nameless = [row | {"aligned": None} for row in rows.attention]
    figure = training_course._layers(
        dataclasses.replace(rows, attention=nameless, curve=[{"step": 0, "exact_match": {}}]), 8
    )
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "share of what sets\nlogits apart",
        "validation\nexact match",
    ]
