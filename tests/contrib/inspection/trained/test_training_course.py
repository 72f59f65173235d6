"""A run through training: kept states with known numbers, and pictures of known rows."""

import dataclasses
import itertools
import json

import jax
import numpy as np
import pytest

from pe_lab.contrib.inspection.trained import run_inspection, run_report
from pe_lab.contrib.inspection.trained.findings import (
    AFTER,
    BEFORE,
    DURING,
    HeadAttention,
    HeadTerms,
    State,
    TrainingCourse,
    ValidationPoint,
)
from pe_lab.contrib.inspection.trained.loaded_model import LoadedModel
from pe_lab.contrib.inspection.trained.sections import training_course
from pe_lab.contrib.inspection.trained.sections.section import LINES
from tests import models
from tests.contrib.inspection.trained.untrained_run import finished

CURVE = [
    {"step": step, "loss": None, "exact_match": {"3": v, "5": v / 2}, "scale_ratio": []}
    for step, v in ((0, 0.0), (6, 0.98), (12, 1.0))
]
POINTS = [ValidationPoint(step, {3: v, 5: v / 2}) for step, v in ((0, 0.0), (6, 0.98), (12, 1.0))]


@pytest.fixture(scope="module")
def findings():
    """Kept at the start, at the end, and between them once with all tokens equal."""
    start = finished("sinusoidal", "alibi", evaluate__num_examples=4)
    end = models.moved(start.params)
    blind = jax.tree_util.tree_map_with_path(
        lambda path, leaf: 0 * leaf if "embedding" in jax.tree_util.keystr(path) else leaf,
        start.params,
    )
    run = dataclasses.replace(start, params=end, record={**start.record, "curve": CURVE})
    kept = iter([(0, start.params), (6, blind), (12, end)])
    return run_inspection.inspect_run(run, (3, 5), snapshots=kept)


def without_state(rows, state):
    return [dataclasses.replace(row, state=State("", 0, 3)) for row in rows if state(row.state)]


@pytest.mark.full
@pytest.mark.parametrize(("step", "when"), [(0, BEFORE), (12, AFTER)])
def test_the_first_and_the_last_kept_state_are_those_before_and_after_training(
    findings, step, when
):
    for what in ("terms", "attention", "input"):
        rows, ends = getattr(findings.course, what), getattr(findings, what)
        at_step = without_state(rows, lambda state: state.step == step)
        assert at_step == without_state(ends, lambda s: (s.when, s.length) == (when, 3))
        assert at_step != without_state(rows, lambda state: state.step == 6)
        assert {row.state.step: row.state for row in rows} == {
            n: State(DURING, n, 3) for n in (0, 6, 12)
        }


@pytest.mark.full
def test_where_all_tokens_are_equal_all_is_position(findings):
    for row in findings.course.terms:
        if row.state.step == 6:
            assert [row.cc, row.cp, row.pc, row.pp] == pytest.approx([0, 0, 0, 1], abs=1e-6)


@pytest.mark.full
def test_it_is_solved_where_the_curve_first_has_the_threshold_up_to_the_training_length(findings):
    # not at step 6; length 5 has not and does not count
    assert (findings.course.threshold, findings.course.solved_at) == (0.99, 12)
    assert findings.course.curve == POINTS


def record(*points, longest=3):
    """A finished run that has seen lengths up to `longest`, with (step, {length: value}) points."""
    curve = [{"step": s, "exact_match": {str(n): v for n, v in e.items()}} for s, e in points]
    exposure = {"max_length": longest, "solved_threshold": 0.99}
    return {"status": "finished", "curve": curve, "exposure": exposure}


def test_the_first_solved_step_is_that_of_the_tables():
    below, above = (0, {3: 0.98, 5: 1.0}), (6, {3: 1.0, 5: 0.0})
    assert run_inspection.solved_at(record(below, above)) == 6
    assert run_inspection.solved_at(record(below)) is None
    assert run_inspection.solved_at(record()) is None
    assert run_inspection.solved_at(record((0, {5: 1.0}))) is None
    thrice = dict.fromkeys((1, 2, 3), 0.99)  # whose mean is a little less
    assert run_inspection.solved_at(record((6, thrice))) == 6


def test_lengths_of_the_run_from_which_a_run_started_count_as_trained():
    points = [(0, {3: 1.0, 5: 0.5}), (6, {3: 1.0, 5: 1.0})]
    assert run_inspection.solved_at(record(*points)) == 0
    assert run_inspection.solved_at(record(*points, longest=5)) == 6
    trained = finished("rope", train__max_length=2, evaluate__lengths=(2,))
    exposure = {**trained.record["exposure"], "max_length": 3}
    child = dataclasses.replace(trained, record={**trained.record, "exposure": exposure})
    assert run_inspection.lengths_of(child, None) == (3, 4, 6)
    model = LoadedModel(child, (3,), num_examples=1)
    assert run_inspection._inspected_run(child, model, (3,)).trained_length == 3


@pytest.mark.full
def test_the_text_tells_an_unsolved_run_from_one_without_the_training_length(findings):
    def says(curve):
        course = dataclasses.replace(findings.course, curve=curve, solved_at=None)
        return training_course.section(dataclasses.replace(findings, course=course)).this_run

    assert says(POINTS[:2]) == "The task is not solved at any point of the curve."
    for curve in ([], [ValidationPoint(0, {5: 1.0})]):  # trained up to length 3
        assert says(curve).startswith("The curve has no length up to the training length")


@pytest.mark.full
def test_the_page_shows_both_pictures_with_a_row_a_step_and_layer(findings):
    page = run_report.page(findings)
    for stem in ("trained_through_training", "trained_through_training_input"):
        assert f"]({stem}.png)" in page
    assert "reaches 0.99 (dashed line)" in page
    assert "The task is first solved at step 12." in page
    assert training_course.NOT_KEPT not in page
    assert "## Not in this report" not in page
    lines = training_course.section(findings).table.splitlines()[2:]
    assert [[cell.strip() for cell in line.split("|")[1:3]] for line in lines] == [
        [s, f"decoder {layer}"] for s in ("0", "6", "12") for layer in (1, 2)
    ]
    assert json.loads(json.dumps(findings.to_json(), allow_nan=False))["course"]["solved_at"] == 12


@pytest.mark.full
def test_where_nothing_was_kept_the_page_says_how_to_keep_it(findings):
    course = TrainingCourse([], [], [], [], 0.99, None)
    page = run_report.page(dataclasses.replace(findings, course=course))
    assert "`--config.checkpoints.keep_curve=True`" in training_course.NOT_KEPT
    assert training_course.NOT_KEPT in page
    assert "## Through training" not in page


def course_of(num_heads, num_layers=2, solved_at=10, entropy=None, sink_share=None):
    """Shares of each layer from 0.1, 0.2, 0.3, 0.4 to the reverse, and a number for each head."""
    shares = {0: (0.1, 0.2, 0.3, 0.4), 10: (0.4, 0.3, 0.2, 0.1)}
    terms, attention = [], []
    for step, layer, head in itertools.product(
        (0, 10), range(1, num_layers + 1), range(1, num_heads + 1)
    ):
        place = (State(DURING, step, 8), "decoder", layer, head)
        terms.append(HeadTerms(*place, *shares[step], together=None, nearness=None))
        attention.append(
            HeadAttention(
                *place,
                entropy=entropy,
                distance=None,
                aligned=head / 100,
                by_chance=0.5,
                sink_share=sink_share,
            )
        )
    curve = [ValidationPoint(0, {8: 0.0, 16: 0.0}), ValidationPoint(10, {8: 1.0, 16: 0.25})]
    return TrainingCourse(terms, attention, [], curve, 0.99, solved_at)


@pytest.fixture
def drawn():
    """Draws the figure of some rows and closes it at the end."""
    from matplotlib import pyplot

    yield lambda *args, **sizes: np.array(
        training_course.figure(course_of(*args, **sizes), 8).axes
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
    np.testing.assert_array_equal(line(axes[1, 1], "uniform attention"), [[0, 10], [0.5, 0.5]])


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
    names = ["position × position", "position × content", "content × position", "content × content"]
    assert [name.splitlines()[0] for name in shares] == names
    assert (heads, solved) == (
        ["head 1", "head 2", "uniform attention"],
        ["length 8", "length 16", "first solved"],
    )


def test_the_weight_on_learned_sinks_is_drawn_and_listed_where_it_is_known(drawn):
    axes = drawn(2, sink_share=0.25)
    assert [axis.get_ylabel() for axis in axes[1:3, 0]] == [
        "weight on the\nnamed token",
        "weight on the\nlearned sink",
    ]
    np.testing.assert_array_equal(line(axes[2, 1], "head 2"), [[0, 10], [0.25, 0.25]])
    assert "learned sink" not in training_course._table(course_of(2))
    header, _, first, *_ = training_course._table(course_of(2, sink_share=0.25)).splitlines()
    assert header.endswith("| uniform attention | weight on the learned sink |")
    assert [cell.strip() for cell in first.split("|")[-3:-1]] == ["0.50", "0.25"]


def test_of_more_heads_than_there_are_colours_the_mean_is_drawn(drawn):
    axes = drawn(len(LINES) + 1, num_layers=1)
    np.testing.assert_allclose(line(axes[1, 0], "mean over heads")[1], [0.04, 0.04])
    names = [text.get_text() for text in axes[1, 0].get_legend().get_texts()]
    assert names == ["one head", "mean over heads", "uniform attention"]


@pytest.mark.full
def test_token_and_embedding_are_drawn_with_what_to_compare_them_with(findings, drawn):
    rows = findings.course.input
    panels = training_course.input_figure(rows).axes
    directions = [row.parts.directions for row in rows]
    expected = [
        (0, "embedding", [row.parts.embedding_rms for row in rows]),
        (0, "token", [row.parts.token_rms for row in rows]),
        (1, "rms", [d.rms_cosine for d in directions]),
        (1, "random directions", [d.rms_cosine_by_chance for d in directions]),
        (2, "overlap", [d.overlap for d in directions]),
        (2, "random directions", [d.overlap_by_chance for d in directions]),
    ]
    for panel, label, values in expected:
        np.testing.assert_array_equal(line(panels[panel], label), [[0, 6, 12], values])


def test_what_has_no_numbers_is_left_out(drawn):
    course = course_of(1, num_layers=1)
    nameless = [dataclasses.replace(row, aligned=None) for row in course.attention]
    figure = training_course.figure(
        dataclasses.replace(course, attention=nameless, curve=[ValidationPoint(0, {})]), 8
    )
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "share of\nlogit energy",
        "validation\nexact match",
    ]
