"""Continued training: a run that keeps the optimizer and the step of its parent."""

import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from pe_lab.runs import grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.run import RunGroup
from pe_lab.sweeps import study
from pe_lab.training.build import build_setup
from pe_lab.training.loop import Training
from pe_lab.training.parents import _split, check_parent, steps_kept
from pe_lab.training.trained_runs import TrainedRun
from tests import tiny
from tests.marks import full
from tests.models import assert_equal

TOY = dict(model__num_layers=1, evaluate__lengths=(3,), train__steps=12)
LENGTHS = dict(name="doubling", initial=1, every=3)


def group(*encodings, parents=None, keep="optimizer", rates=(5e-3, 1e-2), **changes):
    """A run group of two members, which continue those of another group."""
    runs = []
    for seed, rate in enumerate(rates):
        start = None
        if parents is not None:
            start = dict(study="", run_id=parents.runs[seed].run_id, keep=keep)
        fields = {**TOY, **changes, "seed": seed, "init_from": start, "train__learning_rate": rate}
        runs.append(tiny.run(*(encodings or ("rope",)), **fields))
    return RunGroup(tuple(runs))


def begun(folder, runs):
    """A training before its first step, or after its last one if it has been trained."""
    return Training(runs, folder, lambda event: None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "changes",
    [
        dict(train__lengths=LENGTHS, model__dropout=0.1),
        full(dict(train__optimizer=dict(name="muon"), execution__members="vmap")),
        full(dict(train__schedule="linear", layout__name="encoder_decoder")),
    ],
)
def test_a_run_cut_in_two_equals_the_uncut_run(tmp_path, changes):
    uncut = group(**changes)
    first = group(**changes, train__steps=7, train__schedule_steps=12)
    second = group(**changes, parents=first)
    tiny.train(tmp_path / "uncut", uncut)
    for part in (first, second):
        tiny.train(tmp_path / "cut", part)
    assert_equal(begun(tmp_path / "cut", second).state, begun(tmp_path / "uncut", uncut).state)
    for one, other in zip(uncut.runs, second.runs, strict=True):
        whole = records.read_run(tmp_path / "uncut", one.run_id)
        part = records.read_run(tmp_path / "cut", other.run_id)
        assert part["exposure"] == whole["exposure"]
        assert [point["step"] for point in part["curve"]] == [7, 12]
        assert part["cost"]["steps"] == 5
        before = records.read_run(tmp_path / "cut", other.init_from.run_id)
        costs = [record["cost"]["train_flops"] for record in (before, part, whole)]
        assert costs[0] + costs[1] == costs[2]
        measured = ("length", "metrics")
        for row, expected in zip(part["rows"], whole["rows"], strict=True):
            assert [row.get(key) for key in measured] == [expected.get(key) for key in measured]


@pytest.mark.slow
def test_a_run_that_started_from_another_one_can_be_cut_too(tmp_path):
    """Its data goes on where its parent ended, and its optimizer began anew."""
    parent = group(train__steps=3)
    uncut = group(parents=parent, keep="parameters")
    first = group(parents=parent, keep="parameters", train__steps=5, train__schedule_steps=12)
    second = group(parents=first)
    for part in (parent, uncut, first, second):
        tiny.train(tmp_path, part)
    cut, whole = (begun(tmp_path, runs) for runs in (second, uncut))
    assert cut.members.first_step.tolist() == [3, 3]
    assert_equal(cut.state, whole.state)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder with a trained group of RoPE and learned positions."""
    folder = tmp_path_factory.mktemp("parents")
    parents = group("rope", "learned", train__steps=4)
    tiny.train(folder, parents)
    return folder, parents


@pytest.mark.slow
def test_moments_follow_their_parameters_and_new_ones_start_at_zero(trained):
    folder, parents = trained
    old = begun(folder, parents).state
    events = []
    new = Training(group("t5_bias", "learned", parents=parents), folder, events.append).state
    assert events == [{"event": "resumed", "step": 4}]  # so progress begins there
    assert np.asarray(new.step).tolist() == [4, 4]
    old_adam, new_adam = (state.optimizer[1] for state in (old, new))
    assert np.asarray(new_adam.count).tolist() == [4, 4]
    bias = new_adam.nu["decoder"].pop("attention_encodings")
    assert all((leaf == 0).all() for leaf in jax.tree.leaves(bias))
    assert_equal(new_adam.nu, old_adam.nu)
    assert all((leaf != 0).any() for leaf in jax.tree.leaves(old_adam.nu))


@pytest.mark.slow
def test_a_frozen_backbone_keeps_its_bits_and_encodings_move(trained):
    folder, parents = trained
    frozen = group("rope", "learned", parents=parents, train__backbone_rate_factor=0.0)
    tiny.train(folder, frozen)
    old, new = (begun(folder, runs).state.params for runs in (parents, frozen))
    tables = [params["decoder"].pop("input_encodings") for params in (old, new)]
    assert_equal(*[jax.tree.map(np.asarray, params) for params in (old, new)])
    assert (tables[0][0]["table"] != tables[1][0]["table"]).any()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("encodings", "changes", "sentence"),
    [
        (
            ["rope", "learned"],
            dict(train__steps=4),
            "config.train.steps counts them too: it must be more than 4, got 4.",
        ),
        (
            ["rope", "learned"],
            dict(train__optimizer=dict(name="muon")),
            "was trained with the optimizer adamw, and a run that keeps its optimizer has muon: "
            "set config.train.optimizer to the same name.",
        ),
        (
            ["rope", dict(name="learned", max_positions=9)],
            dict(),
            "decoder.input_encodings.0.table is (512, 16) there and (9, 16) here.",
        ),
        (["rope"], dict(model__num_layers=2), "blocks.1.attention.key.kernel is missing there"),
    ],
)
def test_a_parent_that_cannot_be_continued_is_refused(trained, encodings, changes, sentence):
    folder, parents = trained
    with pytest.raises(UserError, match=re.escape(sentence)):
        begun(folder, group(*encodings, parents=parents, **changes))


def test_members_whose_parents_ended_at_different_steps_are_refused():
    parents = group()
    runs = group(parents=parents).runs
    setup = build_setup(parents.run)
    ended = [TrainedRun(setup, {}, {}, step=step) for step in (4, 5)]
    assert steps_kept(runs, [ended[0], ended[0]]) == 4
    assert steps_kept(group(parents=parents, keep="parameters").runs, ended) == 0
    assert steps_kept(parents.runs, [None, None]) == 0
    with pytest.raises(UserError, match=r"ended at the steps 4 and 5, .*max_members to 1\.$"):
        steps_kept(runs, ended)


@pytest.mark.slow
def test_a_parent_without_a_checkpoint_is_refused(tmp_path):
    parents = group(train__steps=4, checkpoints__keep_final=False)
    tiny.train(tmp_path, parents)
    with pytest.raises(UserError, match=r"kept no final parameters: config\.checkpoints"):
        begun(tmp_path, group(parents=parents))


def test_records_from_before_optimizers_were_named_are_of_adamw():
    parent = {"run_id": "p", "config": {"train": {"exclude_held_out": True}}}
    child = group(parents=group()).run
    check_parent(child, parent)
    muon = group(parents=group(), train__optimizer=dict(name="muon")).run
    with pytest.raises(UserError, match=r"^The run p was trained with the optimizer adamw"):
        check_parent(muon, parent)


def test_what_is_kept_is_part_of_a_run_id_and_of_its_group():
    parents = group()
    fresh, parameters, optimizer = (
        group(),
        group(parents=parents, keep="parameters"),
        group(parents=parents),
    )
    assert "keep" not in fresh.run.identity()
    assert "keep" not in parameters.run.identity()
    assert group(train__schedule_steps=12).run.run_id != fresh.run.run_id
    assert parameters.run.run_id != optimizer.run.run_id
    runs = [*parameters.runs, *optimizer.runs]
    assert [len(part.runs) for part in study.groups(runs)] == [2, 2]
    with pytest.raises(UserError, match=r"config\.init_from\.keep"):
        group(parents=parents, keep="all")


def test_a_schedule_that_ends_by_a_criterion_has_no_number_of_steps():
    with pytest.raises(UserError, match=r"^config\.train\.schedule_steps must be None, got 9: "):
        tiny.run(train__criterion="solved", train__schedule_steps=9)


def test_a_path_into_an_optimizer_ends_with_that_of_a_parameter():
    state = {"mu": [{"a": {"b": jnp.ones(1)}}], "count": jnp.ones(())}
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(state)]
    assert [_split(path, {("a", "b")})[1] for path in paths] == [(), ("a", "b")]


ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Continued training\n")[2].partition("\n## ")[0]
EXAMPLES = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=["YaRN", "extension", "DroPE"])
def test_an_example_of_the_page_runs_at_a_small_size(tmp_path, example):
    assert example.count("\n") <= 11  # ten lines and the name
    namespace = {"grid": grid}
    exec(compile(example, "docs/models.md", "exec"), namespace)
    points = namespace["sweep"]()
    small = {"train.steps": 1 / 100, "train.schedule_steps": 1 / 100, "train.max_length": 1 / 4}
    for point in points:
        for path in small.keys() & point.keys():
            choice = point[path]
            point[path] = grid.labelled(choice.label, int(choice.value * small[path]))
    points = [point for point in points if point["seed"].value == 0]
    values = tiny.values(**TOY, train__schedule_steps=None, train__criterion="solved")
    values["evaluate"]["validation_lengths"] = (2,)
    values["evaluate"]["curve_lengths"] = (2,)
    expanded = study.expand("example", values, points, tmp_path)
    runs = [entry.run for entry in expanded.entries]
    groups = study.groups(runs)
    assert len(groups) == len(runs) > 1
    for part in groups:
        (record,) = tiny.train(tmp_path, part).values()
        assert record["status"] == "finished"
        assert record["exposure"]["steps"] == part.run.train.steps
