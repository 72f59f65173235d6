"""The launcher asks Slurm for resources, and refuses what is missing or wrong."""

import sys

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.sweeps.launchers import slurm
from pe_lab.sweeps.launchers.base import launcher

pytest.importorskip("submitit", reason="submitit is not installed: pip install 'pe_lab[slurm]'")


def test_resources_stand_in_the_script(launch):
    launch(
        {"a": "", "b": "", "c": ""},
        workers=2,
        partition="gpu",
        account="mine",
        cpus=4,
        gpus=1,
        memory_gb=2.5,
        minutes=30,
    )
    script = (launch.played / "job-1").read_text(encoding="utf-8")
    options = {
        line.removeprefix("#SBATCH ") for line in script.splitlines() if line.startswith("#SBATCH")
    }
    asked = {
        "--array=0-2%2",
        "--partition=gpu",
        "--account=mine",
        "--cpus-per-task=4",
        "--gpus-per-node=1",
        "--mem=2560M",
        "--time=30",
    }
    assert asked | {"--requeue", "--signal=TERM@60"} <= options
    assert "srun --unbuffered --cpus-per-task=4 " in script


@pytest.mark.slow
def test_more_groups_than_an_array_may_hold_are_several(launch, monkeypatch):
    monkeypatch.setattr(slurm, "_ARRAY", 2)
    assert launch({"a": "", "b": "", "c": ""})[0] == {"a": 0, "b": 0, "c": 0}
    assert sorted(file.name for file in launch.played.glob("job-*")) == ["job-1", "job-2"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("squeue", "There is no Slurm here"),
        ("sacct", "keeps no accounts"),
        ("sbatch", "does not take the run groups"),
    ],
)
def test_what_is_missing_is_said(launch, name, sentence, capfd):
    (launch.played / name).write_text("#!/bin/sh\necho no >&2\nexit 1\n", encoding="utf-8")
    with pytest.raises(UserError, match=sentence):
        launch({"a": ""})
    assert capfd.readouterr().err == ""


def test_submitit_is_asked_for_where_it_is_missing(launch, monkeypatch):
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(UserError, match=r"needs submitit: pip install 'pe_lab\[slurm\]'"):
        launch({"a": ""})


@pytest.mark.parametrize(
    "wrong",
    [
        dict(cpus=0),
        dict(gpus=-1),
        dict(minutes=1),
        dict(memory_gb=0.0),
        dict(workers=0),
        dict(partition=3),
        dict(queue="x"),
    ],
)
def test_wrong_resources_are_refused(wrong):
    with pytest.raises(UserError):
        launcher({"name": "slurm", **wrong})


def test_launchers_are_plugins():
    assert plugins.names("sweeps.launchers") == ["local", "ray", "slurm"]
    with pytest.raises(
        UserError, match=r"pe_lab/sweeps/launchers has no 'slrum'. Did you mean 'slurm'\?"
    ):
        launcher({"name": "slrum"})
    with pytest.raises(UserError, match=r"config.launcher is given as dict"):
        launcher("slurm")
    assert launcher({"name": "slurm", "workers": 2}, 5).at_once(9) == 5
    assert launcher({"name": "slurm"}).at_once(9) == 9
