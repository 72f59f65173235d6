"""Sweeps on a real Slurm cluster of two nodes, with accounting.

Whatever happens to their tasks, they end with the tables of a local sweep.

`make test-cluster` installs the requirements and runs only these tests.
"""

import os
import signal
import time

import pytest

from pe_lab.runs.records import records
from tests.cluster.slurm_cluster import SlurmCluster
from tests.cluster.slurm_sweeps import PATIENCE, Sweep, begun, process_of
from tests.record_values import measured

GROUPS, SLOTS = 3, 2  # of two nodes with a processor each
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    with SlurmCluster(tmp_path_factory.mktemp("cluster") / "slurm") as cluster:
        yield cluster


@pytest.fixture(autouse=True)
def emptied(request):
    """A test that fails leaves no task to the next one."""
    yield
    if "cluster" in request.fixturenames:
        request.getfixturevalue("cluster").run("scancel", f"--user={os.getuid()}")


@pytest.fixture(scope="session")
def local(tmp_path_factory):
    """The folder of a sweep that the local launcher ran."""
    tmp_path = tmp_path_factory.mktemp("local")
    with begun(tmp_path, tmp_path / "study", os.environ, "--workers=2") as process:
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0, errors
    return tmp_path / "study"


@pytest.fixture
def sweep(cluster, tmp_path):
    begun = []

    def begin(*arguments, **more):
        begun.append(Sweep(cluster, tmp_path, *arguments, **more))
        return begun[-1]

    yield begin
    for one in begun:
        one.process.kill()
        one.process.communicate()


def assert_same(sweep, local):
    assert sweep.process.returncode == 0, sweep.errors
    assert measured(sweep.folder) == measured(local)
    for table in ("table.md", "table.csv"):
        assert (sweep.folder / table).read_bytes() == (local / table).read_bytes()


def test_it_ends_with_the_tables_of_a_local_sweep_with_more_groups_than_slots(sweep, local):
    slurm = sweep()
    slurm.group_at()
    queue = slurm.cluster.run("squeue", "-hr", "-o", "%T").split()
    assert len(queue) == GROUPS
    assert queue.count("RUNNING") <= SLOTS
    said = slurm.said()
    assert_same(slurm, local)
    assert slurm.states() == ["COMPLETED"] * GROUPS
    assert said.count("waits in the queue") == GROUPS
    assert not list(slurm.folder.rglob("*.pkl"))


def test_tasks_that_are_asked_to_leave_or_requeued_go_on_from_where_they_were(sweep, local):
    slurm = sweep()
    _, task, _ = slurm.group_at("n1")
    slurm.cluster.run(
        "scancel", "--signal=TERM", task, check=False
    )  # it tries again, and finds the task gone
    _, task, _ = slurm.group_at("n2")
    slurm.cluster.run("scontrol", "requeue", task)
    said = slurm.said()
    assert_same(slurm, local)
    assert said.count("preempted, will resume") == 2
    assert sorted(slurm.states()) == ["COMPLETED"] * GROUPS + ["REQUEUED"] * 2


def test_preempted_tasks_are_requeued(sweep, local, tmp_path):
    slurm = sweep()
    slurm.group_at("n1")
    urgent = tmp_path / "urgent.sh"
    urgent.write_text("#!/bin/sh\nsleep 3\n", encoding="utf-8")
    slurm.cluster.run(
        "sbatch",
        "--partition=urgent",
        "--nodes=2",
        "--exclusive",
        "--output=/dev/null",
        str(urgent),
    )
    slurm.said()
    assert_same(slurm, local)
    states = slurm.states()
    assert states.count("COMPLETED") == GROUPS
    assert len(states) > GROUPS
    assert set(states) <= {"COMPLETED", "PREEMPTED", "REQUEUED"}


def test_a_killed_task_costs_its_group_one_retry_and_is_recorded_as_failed_at_the_second(
    sweep, local
):
    slurm = sweep()
    group, _, pid = slurm.group_at("n1")
    os.kill(pid, signal.SIGKILL)
    once, _, other = slurm.group_at("n2")
    os.kill(other, signal.SIGKILL)
    file = slurm.folder / "groups" / f"{group}.json"
    while (again := process_of(file)) is None or again[0] == pid:
        assert slurm.process.poll() is None
        time.sleep(0.1)
    os.kill(again[0], signal.SIGKILL)
    said = slurm.said()
    assert once != group
    assert slurm.process.returncode == 1
    assert said.count("its worker was killed by signal 9; it is tried once more") == 2
    assert sorted(slurm.states()) == ["COMPLETED"] * (GROUPS - 1) + ["FAILED"] * 3
    (failed,) = (
        record for record in records.read_all(slurm.folder).values() if record["status"] == "failed"
    )
    assert (
        failed["error"]
        == f"its worker was killed by signal 9: see {slurm.folder / 'logs' / group}.log"
    )
    others = {run_id: of for run_id, of in measured(local).items() if run_id != failed["run_id"]}
    assert {
        run_id: of for run_id, of in measured(slurm.folder).items() if run_id != failed["run_id"]
    } == others
    again = sweep()
    again.said()
    assert_same(again, local)


def test_groups_of_a_node_that_dies_go_on_elsewhere(sweep, local):
    slurm = sweep()
    slurm.group_at("n2")
    slurm.cluster.kill_node("n2")
    try:
        slurm.said()
        assert_same(slurm, local)
        assert "NODE_FAIL" in slurm.states()
    finally:
        slurm.cluster.start_node("n2")


def test_ctrl_c_cancels_what_waits_and_asks_what_runs_to_save(sweep, local):
    slurm = sweep()
    group, _, _ = slurm.group_at()
    slurm.process.send_signal(signal.SIGINT)
    slurm.said()
    assert slurm.process.returncode == 130
    until = time.monotonic() + PATIENCE
    while slurm.cluster.run("squeue", "-h"):
        assert time.monotonic() < until
        time.sleep(0.2)
    assert {state.split()[0] for state in slurm.states()} <= {"CANCELLED", "COMPLETED"}
    assert (slurm.folder / "checkpoints" / group).is_dir()
    again = sweep()
    again.said()
    assert_same(again, local)


def test_what_the_cluster_does_not_offer_is_refused_with_its_words(sweep):
    slurm = sweep("--config.launcher.partition=nowhere")
    slurm.said()
    assert slurm.process.returncode == 2
    assert slurm.errors.startswith("error: Slurm does not take the run groups: sbatch: error: ")
    assert "partition" in slurm.errors
    assert slurm.errors.count("\n") == 1
