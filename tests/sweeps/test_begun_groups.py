"""Runs that have begun together stay together when a study grows."""

import pytest

from pe_lab.runs import grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.system import locks
from pe_lab.sweeps import plans, study
from pe_lab.training import run_records
from tests import tiny


def expanded(folder, seeds, **changes):
    points = grid.product({"seed": range(seeds)})
    return study.expand("fake", tiny.values(**changes), points, folder)


@pytest.fixture
def begun(tmp_path):
    """A folder with an interrupted group of two seeds, and the group."""
    (group,) = study.groups(expanded(tmp_path, 2).runs)
    run_group_files.write(group, tmp_path)
    (tmp_path / "checkpoints" / group.group_id / "100").mkdir(parents=True)
    return group


def groups_of(folder, runs):
    """The run ids of each group that a sweep would plan for unfinished runs."""
    by_id = records.read_all(folder) if records.exist(folder) else {}
    unfinished = [run.run_id for run in runs]
    begun = plans.begun_groups(folder, runs, unfinished, by_id)
    return [[run.run_id for run in group.runs] for group in study.groups(runs, begun)]


def test_more_seeds_leave_an_interrupted_group_as_it_is(begun, tmp_path):
    more = expanded(tmp_path, 5).runs
    ids = [run.run_id for run in more]
    assert groups_of(tmp_path, more) == [ids[:2], ids[2:]]


def test_a_group_that_another_process_trains_is_left_as_it_is(begun, tmp_path):
    (tmp_path / "checkpoints" / begun.group_id / "100").rmdir()
    more = expanded(tmp_path, 3).runs
    ids = [run.run_id for run in more]
    assert groups_of(tmp_path, more) == [ids]  # it has no checkpoint, and nobody trains it
    lock = run_group_files.path_of(tmp_path, begun.group_id).with_suffix(".lock")
    with locks.held(lock):
        assert groups_of(tmp_path, more) == [ids[:2], ids[2:]]


def test_a_group_with_a_run_that_the_study_no_longer_has_is_formed_anew(begun, tmp_path):
    fewer = expanded(tmp_path, 1).runs
    assert groups_of(tmp_path, fewer) == [[fewer[0].run_id]]


def finish(folder, group, index):
    run = group.runs[index]
    place = {"run_group": group.group_id, "step": 100, "member": index}
    parts = {"status": "finished", "rows": [], "checkpoint": place}
    records.write(folder, {**run_records.blank(run), **parts})


def test_a_finished_run_is_evaluated_further_in_the_group_that_has_its_parameters(begun, tmp_path):
    """Seed 0 has a record without rows, and a third seed is new."""
    finish(tmp_path, begun, 0)
    more = expanded(tmp_path, 3).runs
    ids = [run.run_id for run in more]
    assert groups_of(tmp_path, more) == [ids[:2], ids[2:]]


def remove(checkpoint):
    checkpoint.rmdir()


def set_aside(checkpoint):
    records.set_aside(checkpoint)  # as if its content were damaged


def leave_half_written(checkpoint):
    checkpoint.rename(checkpoint.with_name("100.orbax-checkpoint-tmp"))


@pytest.mark.parametrize("lose", [remove, set_aside, leave_half_written])
def test_a_finished_run_without_its_parameters_is_not_trained_again(begun, tmp_path, lose):
    finish(tmp_path, begun, 0)
    lose(tmp_path / "checkpoints" / begun.group_id / "100")
    sentence = rf"^The run {begun.runs[0].run_id} has finished and lacks evaluations of this study"
    with pytest.raises(UserError, match=sentence):
        groups_of(tmp_path, expanded(tmp_path, 3).runs)
