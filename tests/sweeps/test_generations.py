"""Runs that start from runs of the same study are expanded and ordered into run groups."""

from pathlib import Path

import pytest

from pe_lab.runs import grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.sweeps import plans, study
from pe_lab.training import run_records
from tests import tiny
from tests.sweeps.generations import ALIBI, FROM, LEARNED, ROPE, expand, named


def three_generations():
    """RoPE, trained on from itself twice with nothing else changed, and ALiBi once; two seeds."""
    roots = grid.product({"model.encodings": [ROPE, ALIBI]})
    children = named(grid.product({"model.encodings": [ROPE], "init_from": FROM[:1]}), "again")
    first = expand(grid.product(roots, {"seed": range(2)})).runs[0].run_id
    again = dict(select=dict(init_from=dict(run_id=first)), match=())
    third = named(
        grid.product(
            {"model.encodings": [ROPE], "init_from": [grid.labelled("", again)], "seed": [0]}
        ),
        "once more",
    )
    return grid.concat(grid.product(grid.concat(roots, children), {"seed": range(2)}), third)


@pytest.fixture(scope="module")
def runs():
    return expand(three_generations()).runs


def test_a_child_starts_from_the_run_of_its_own_seed(runs):
    parents = [run.init_from and run.init_from.run_id for run in runs]
    assert parents == [None] * 4 + [runs[i].run_id for i in (0, 1, 4)]
    assert {run.init_from.study for run in runs if run.init_from} == {""}
    assert [run.seed for run in runs] == [0, 1, 0, 1, 0, 1, 0]
    assert len({run.run_id for run in runs}) == 7


def test_a_parent_after_its_child_is_not_found():
    points = three_generations()
    with pytest.raises(
        UserError,
        match=r"finds no runs in this study, before this point with model\.encodings=rope, seed=0",
    ):
        expand([*points[4:6], *points[:4]])


def test_a_child_is_in_a_later_group_than_its_parent_even_where_they_differ_in_nothing_else(runs):
    assert runs[0].group_key() == runs[4].group_key() == runs[6].group_key()
    parts = [runs[:2], runs[2:4], runs[4:6], runs[6:]]
    assert [list(group.runs) for group in study.groups(runs)] == parts


def test_the_order_of_the_groups_is_that_of_the_generations_whatever_that_of_the_runs(runs):
    generations = [runs[:4], runs[:4], runs[4:6], runs[6:]]
    for group, generation in zip(study.groups(reversed(runs)), generations, strict=True):
        assert set(group.runs) <= set(generation)


def test_children_whose_parents_are_done_already_train_with_the_first(runs):
    assert [len(group.runs) for group in study.groups(runs[4:6])] == [2]
    assert [len(wave) for wave in study.waves(study.groups(runs[2:6]))] == [2]


@pytest.mark.parametrize(("size", "expected"), [(8, [2, 1, 1]), (1, [4, 2, 1])])
def test_a_wave_holds_every_group_whose_parents_have_trained(size, expected):
    runs = expand(three_generations(), execution__max_members=size).runs
    groups = study.groups(runs)
    waves = study.waves(reversed(groups))
    assert [len(wave) for wave in waves] == expected
    assert {group for wave in waves for group in wave} == set(groups)
    trained = {None}
    for wave in waves:
        runs = [run for group in wave for run in group.runs]
        assert {run.init_from and run.init_from.run_id for run in runs} <= trained
        trained |= {run.run_id for run in runs}


def test_without_children_there_is_one_wave_and_without_groups_none(runs):
    groups = study.groups(runs[:4])
    assert study.waves(groups) == [groups]
    assert study.waves([]) == []


def test_a_silent_label_is_not_shown_and_its_value_is_used():
    points = grid.product({"model.encodings": [ROPE, ALIBI], "train.steps": [grid.labelled("", 7)]})
    assert [(e.labels, e.run.train.steps) for e in expand(points).entries] == [
        ({"model.encodings": "rope", "train.steps": ""}, 7),
        ({"model.encodings": "alibi", "train.steps": ""}, 7),
    ]


def test_a_silent_axis_may_differ_between_variants_that_have_names():
    pairs = [("short", 3), ("long", 7)]
    points = grid.zipped(
        {"model.encodings": [grid.labelled(name, ROPE) for name, _ in pairs]},
        {"train.steps": [grid.labelled("", n) for _, n in pairs]},
    )
    assert [e.run.train.steps for e in expand(points).entries] == [3, 7]


def silent(*steps):
    return grid.product({"train.steps": [grid.labelled("", n) for n in steps]})


@pytest.mark.parametrize(
    ("points", "called"),
    [
        (grid.product({"model.encodings": [ROPE]}, silent(3, 7)), "rope"),
        (grid.product(silent(3, 7), {"seed": range(2)}), "no label"),
        (
            grid.concat(
                grid.product({"model.encodings": [ROPE]}),
                grid.product({"model.encodings": [ROPE]}, silent(7)),
            ),
            "rope",
        ),
        (
            grid.product({"model.encodings": [ROPE], "layout.end_token": [True]}, silent(3, 7)),
            "rope · True",
        ),
    ],
)
def test_a_silent_label_may_not_be_all_that_tells_two_variants_apart(points, called):
    with pytest.raises(UserError) as refused:
        expand(points)
    assert str(refused.value) == (
        f"Two variants are both called {called}: give what tells them apart a label with "
        f"grid.labelled."
    )


@pytest.mark.parametrize("field", ["label", "question"])
def test_a_text_with_a_line_break_is_refused_before_any_training(field):
    ropes = [grid.labelled("a\nb" if field == "label" else "a", (dict(name="rope"),))]
    analysis = {"question": "a\nb"} if field == "question" else None
    points = grid.product({"model.encodings": ropes})
    with pytest.raises(UserError, match=r"^The text 'a\\nb' has a control character, such as"):
        study.expand("fake", tiny.values(), points, Path("nowhere"), analysis)


def test_equal_labels_of_two_axes_may_not_be_one_name():
    layers, heads = ({f"model.{axis}": [2]} for axis in ("num_layers", "num_heads"))
    rope = {"model.encodings": [ROPE]}
    with pytest.raises(UserError, match="are both called 2: give"):
        expand(grid.concat(grid.product(rope, layers), grid.product(rope, heads)))


def test_a_parent_of_the_same_study_keeps_its_parameters(tmp_path):
    parents = named(grid.product({"model.encodings": [ROPE]}), "first")
    children = named(grid.product({"model.encodings": [ROPE], "init_from": FROM[:1]}), "then")
    points = grid.concat(parents, children)
    family = expand(points, tmp_path, checkpoints__keep_final=False)
    with pytest.raises(UserError, match="whose final parameters are removed: set checkpoints"):
        plans.make(family, tmp_path)


@pytest.mark.slow
def test_a_parent_that_has_left_no_parameters_is_refused_before_anything_trains(tmp_path):
    parent = tiny.run("rope")
    asked = dict(init_from=dict(study="first", run_id=parent.run_id))
    made = expand(grid.product(), tmp_path / "second", **asked)
    sentence = (
        f"The run {parent.run_id} that {made.runs[0].run_id} starts from has no "
        f"parameters in {tmp_path / 'first'}."
    )
    for _ in range(2):  # without its record, and with one without parameters
        with pytest.raises(UserError) as refused:
            plans.make(made, tmp_path / "second")
        assert str(refused.value) == sentence
        records.write(tmp_path / "first", run_records.blank(parent) | {"status": "finished"})
    assert not (tmp_path / "second").exists()


@pytest.mark.slow
def test_a_change_that_a_run_cannot_take_is_refused_before_anything_trains(tmp_path):
    made = expand(grid.product(), evaluate__overrides=(dict(encodings=LEARNED),))
    with pytest.raises(
        UserError, match=r"learned has parameters that the run .* was not trained with"
    ):
        plans.make(made, tmp_path)
    assert list(tmp_path.iterdir()) == []
