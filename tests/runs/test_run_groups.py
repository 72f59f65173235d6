"""Runs that differ only in the settings of a member form a run group."""

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import run_group_files
from pe_lab.runs.run import RunGroup
from tests.runs.config_runs import PARENT, encodings, run


def test_a_member_is_two_seeds_a_learning_rate_a_weight_decay_and_a_parent():
    made = run(seed=3, train__learning_rate=0.5, train__weight_decay=0.25)
    assert made.member_settings() == {
        "seed": 3,
        "data_seed": 3,
        "learning_rate": 0.5,
        "weight_decay": 0.25,
        "init_from": None,
    }
    assert run(init_from=PARENT).member_settings()["init_from"] == "0123456789abcdef"


MEMBERS = [
    dict(seed=1),
    dict(data_seed=1),
    dict(train__learning_rate=0.5),
    dict(train__weight_decay=0.5),
    dict(init_from=PARENT),
]


@pytest.mark.parametrize("changes", MEMBERS, ids=str)
def test_runs_that_differ_in_their_member_are_of_one_group(changes):
    runs = (run(), run(**changes))
    assert runs[0].group_key() == runs[1].group_key()
    assert RunGroup(runs).run == runs[0]


@pytest.mark.parametrize(
    "changes",
    [dict(train__steps=3), dict(train__beta1=0.5), dict(evaluate__num_examples=3), encodings()],
    ids=str,
)
def test_a_group_of_runs_that_differ_otherwise_is_refused(changes):
    with pytest.raises(ValueError, match="differ in seeds, learning rate and weight decay only"):
        RunGroup((run(), run(**changes)))


def test_a_run_group_without_runs_is_refused():
    with pytest.raises(ValueError, match="The runs of a run group"):
        RunGroup(())


def test_a_group_is_known_by_its_runs():
    a, b = run(), run(seed=1)
    assert RunGroup((a, b)).group_id == RunGroup((run(), run(seed=1))).group_id
    assert len({RunGroup(runs).group_id for runs in ((a,), (b,), (a, b), (b, a))}) == 4


@pytest.mark.parametrize(
    "name", ["records", "groups", "progress", "logs", "slurm", "checkpoints/0"]
)
def test_a_folder_of_a_study_that_leads_elsewhere_is_refused(tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to(tmp_path)
    with pytest.raises(UserError, match=f"{name} is a link, and pe_lab writes into the study's"):
        run_group_files.check_folders(tmp_path)


def test_a_folder_of_checkpoints_may_be_on_another_disk(tmp_path):
    (tmp_path / "disk" / "0").mkdir(parents=True)
    (tmp_path / "checkpoints").symlink_to(tmp_path / "disk")
    run_group_files.check_folders(tmp_path)
