"""Runs that start from runs of the same study train one generation after the other."""

import pytest

from pe_lab.runs import grid
from pe_lab.runs.records import records
from pe_lab.sweeps import plans, study, sweep
from pe_lab.sweeps.launchers.local import Local
from pe_lab.training import process
from pe_lab.training.loop import train_run_group
from tests.sweeps.generations import ALIBI, FROM, ROPE, expand, named


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep in this process of RoPE and ALiBi, each trained on from itself. RoPE fails."""
    folder = tmp_path_factory.mktemp("results") / "fake"
    points = grid.product({"model.encodings": [ROPE, ALIBI]})
    again = [
        named(grid.product({"model.encodings": [e], "init_from": [f]}), "again")
        for e, f in zip((ROPE, ALIBI), FROM, strict=True)
    ]
    changes = dict(
        model__num_layers=1,
        train__steps=2,
        train__warmup_steps=0,
        evaluate__lengths=(3,),
        evaluate__curve_every=2,
        execution__chunk_steps=2,
    )
    made = expand(grid.concat(points, *again), folder, **changes)
    todo, order = plans.make(made, folder), []

    def failing(group, *args):
        if group.run.init_from is None and group.run.model.encodings[0].name == "rope":
            raise RuntimeError("no rope today")
        train_run_group(group, *args)

    class InProcess(Local):
        def launch(self, files, folder, on_event):
            order.append([file.stem for file in files])
            return {file.stem: process.main(file, folder) for file in files}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "train_run_group", failing)
        failed = sweep.run(todo, InProcess())
    return made, folder, todo, order, failed


@pytest.mark.slow
def test_groups_start_only_after_those_that_theirs_start_from(swept):
    made, _, todo, order, _ = swept
    of = {run.run_id: group.group_id for group in todo.groups for run in group.runs}
    assert [set(wave) for wave in order] == [
        {of[run.run_id] for run in made.runs[:2]},
        {of[run.run_id] for run in made.runs[2:]},
    ]


@pytest.mark.slow
def test_a_child_whose_parent_has_failed_is_recorded_as_failed_and_the_others_go_on(swept):
    made, folder, _, _, failed = swept
    rope, alibi, from_rope, from_alibi = made.runs
    found = records.read_all(folder)
    assert {run_id: record["status"] for run_id, record in found.items()} == {
        rope.run_id: "failed",
        from_rope.run_id: "failed",
        alibi.run_id: "finished",
        from_alibi.run_id: "finished",
    }
    sentence = f"The run {rope.run_id} in {folder} has not finished, it failed."
    assert failed == {rope.run_id: "RuntimeError: no rope today", from_rope.run_id: sentence}
    assert found[from_rope.run_id]["error"] == sentence
    assert found[from_rope.run_id]["member"]["init_from"] == rope.run_id


@pytest.mark.slow
def test_a_child_goes_on_where_its_parent_ended(swept):
    made, folder, *_ = swept
    parent, child = (records.read(records.path_of(folder, made.runs[i].run_id)) for i in (1, 3))
    assert child["curve"][0]["exact_match"] == parent["curve"][-1]["exact_match"]
    assert (parent["exposure"]["steps"], child["exposure"]["steps"]) == (2, 4)
    start = {"study": "", "run_id": parent["run_id"], "keep": "parameters"}
    assert child["config"]["init_from"] == start


@pytest.mark.slow
def test_a_second_sweep_plans_only_failed_runs(swept):
    made, folder, *_ = swept
    todo = plans.make(made, folder)
    assert [[run.run_id for run in group.runs] for group in todo.groups] == [
        [made.runs[0].run_id],
        [made.runs[2].run_id],
    ]
    assert "fake: 4 points, 4 runs, 2 of them done" in str(todo)
    assert len(study.waves(todo.groups)) == 2
