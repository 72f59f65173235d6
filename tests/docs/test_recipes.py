"""The recipes of docs/clusters.md: their scripts run with a stand-in for Python."""

import os
import subprocess
from pathlib import Path

import pytest
import yaml

from pe_lab.runs.system import locks

RECIPES = Path(__file__).parents[2] / "docs" / "recipes"
PYTHON = """#!/bin/sh
echo "$@" >> calls.txt
mkdir -p results/mine/records && echo {} > results/mine/records/run.json
exit 75
"""


@pytest.fixture
def folder(tmp_path):
    """A study with two run groups, and a stand-in for Python that leaves a record."""
    groups = tmp_path / "results" / "mine" / "groups"
    groups.mkdir(parents=True)
    for name in ("aaa", "bbb"):
        (groups / f"{name}.json").write_text("{}")
    for file in (tmp_path / "python", tmp_path / ".venv" / "bin" / "python"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(PYTHON)
        file.chmod(0o755)
    return tmp_path


def run(script, folder, **variables):
    environment = {"PATH": f"{folder}:{os.environ['PATH']}", **variables}
    return subprocess.run(["sh", "-c", script], cwd=folder, env=environment, check=False).returncode


def test_a_pod_of_kubernetes_trains_the_run_group_of_its_index(folder):
    job = yaml.safe_load((RECIPES / "kubernetes.yaml").read_text(encoding="utf-8"))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["sh", "-c"]
    status = run(container["args"][0], folder, JOB_COMPLETION_INDEX="1")
    call = "-P -m pe_lab.training.process results/mine/groups/bbb.json results/mine\n"
    assert (status, (folder / "calls.txt").read_text()) == (75, call)


def test_kubernetes_starts_a_preempted_run_group_again_and_a_failed_one_not():
    job = yaml.safe_load((RECIPES / "kubernetes.yaml").read_text(encoding="utf-8"))
    (container,) = job["spec"]["template"]["spec"]["containers"]
    actions = {}
    for rule in job["spec"]["podFailurePolicy"]["rules"]:
        if "onExitCodes" in rule:
            assert rule["onExitCodes"]["containerName"] == container["name"]
            actions |= dict.fromkeys(rule["onExitCodes"]["values"], rule["action"])
    assert actions == {locks.LATER: "Ignore", 1: "FailIndex"}
    # Kubernetes takes the policy and the limit of an index only with these.
    assert job["spec"]["completionMode"] == "Indexed"
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"


def test_skypilot_restores_the_folders_of_its_run_group_and_saves_them(folder):
    task = yaml.safe_load((RECIPES / "skypilot.yaml").read_text(encoding="utf-8"))
    bucket = folder / "bucket"
    saved = bucket / "mine" / "bbb" / "checkpoints"
    saved.mkdir(parents=True)
    (saved / "step").write_text("1")
    script = task["run"].replace("own=/bucket/", f"own={bucket}/")
    status = run(script, folder, STUDY=task["envs"]["STUDY"], GROUP="bbb")
    call = "-P -m pe_lab.training.process results/mine/groups/bbb.json results/mine\n"
    assert (status, (folder / "calls.txt").read_text()) == (75, call)
    assert (folder / "results" / "mine" / "checkpoints" / "step").read_text() == "1"
    assert (bucket / "mine" / "bbb" / "records" / "run.json").read_text() == "{}\n"
