"""The Ray launcher against a module that plays Ray in threads; tests/cluster has the real one."""

import os
import sys
import threading
import types
from types import SimpleNamespace

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.sweeps.launchers import ray as ray_launcher
from pe_lab.sweeps.launchers.base import launcher
from tests.sweeps.launchers.cluster_tasks import check_all_ends


class RayError(Exception):
    pass


class RayTaskError(RayError):
    pass


class Result:
    def __init__(self, function, arguments, number):
        self.number = number
        self.thread = threading.Thread(target=self._run, args=(function, arguments))
        self.value = RayError("the worker has died")
        self.thread.start()

    def _run(self, function, arguments):
        self.value = function(*arguments)

    def hex(self):
        return f"{self.number:08x}"


class Task:
    def __init__(self, played, function):
        self.played, self.function = played, function

    def options(self, **options):
        return self

    def remote(self, *arguments):
        self.played.results.append(Result(self.function, arguments, len(self.played.results)))
        return self.played.results[-1]


@pytest.fixture
def played(monkeypatch):
    """A module that runs each task in a thread."""
    module = types.ModuleType("ray")
    module.results, module.resources, module.nodes_seen = [], [], ["node"]

    def get(result):
        result.thread.join()
        if isinstance(result.value, Exception):
            raise result.value
        return result.value

    def wait(results, num_returns, timeout):
        results[0].thread.join(0.01)
        ended = [result for result in results if not result.thread.is_alive()]
        return ended, [result for result in results if result not in ended]

    def remote(**resources):
        module.resources.append(resources)
        return lambda function: Task(module, function)

    module.init = lambda **arguments: None
    module.shutdown = lambda: None
    module.nodes = lambda: [
        {"Alive": True, "NodeID": name, "NodeManagerAddress": name} for name in module.nodes_seen
    ]
    module.get, module.wait, module.remote = get, wait, remote
    module.exceptions = SimpleNamespace(RayError=RayError, RayTaskError=RayTaskError)
    strategy = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda **arguments: arguments)
    module.util = SimpleNamespace(scheduling_strategies=strategy)
    monkeypatch.setitem(sys.modules, "ray", module)
    monkeypatch.setattr(ray_launcher, "_LOOK_AGAIN", 0.01)
    return module


@pytest.fixture
def launch(tmp_path, monkeypatch):
    """Launch run groups that are Python programs: name -> program, to statuses and events."""
    monkeypatch.setattr(
        ray_launcher, "command", lambda file, folder: [sys.executable, "-S", str(file), str(folder)]
    )
    (tmp_path / "groups").mkdir()

    def call(programs, **arguments):
        files = []
        for name, program in programs.items():
            files.append(tmp_path / "groups" / f"{name}.json")
            files[-1].write_text(program, encoding="utf-8")
        events = []
        statuses = launcher({"name": "ray", **arguments}).launch(
            files, tmp_path, lambda group, event: events.append((group, event))
        )
        return statuses, events

    return call


@pytest.mark.usefixtures("played")
def test_statuses_are_those_of_the_local_launcher_whatever_happens_to_a_task(launch, tmp_path):
    check_all_ends(launch, tmp_path)


@pytest.mark.usefixtures("played")
def test_no_log_is_written_through_a_link(launch, tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(OSError, match="symbolic links"):
        launch({"a": ""})
    assert (tmp_path / "mine.txt").read_text() == "mine"


def test_a_task_asks_for_its_cores_and_gpus(played, launch):
    launch({"a": ""}, cpus=3, gpus=1)
    assert {"num_cpus": 3, "num_gpus": 1, "max_retries": 0} in played.resources


def test_a_folder_that_a_machine_does_not_see_is_refused(played, launch, tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "exists", lambda path: False)
    with pytest.raises(UserError) as error:
        launch({"a": ""})
    assert str(error.value) == (
        f"The machine node of the Ray cluster does not see {tmp_path}: give a folder that all "
        "machines share, --results=FOLDER."
    )
    assert not [*tmp_path.glob(".shared-*")]


def test_an_address_without_a_cluster_is_refused_at_once(played, launch):
    with pytest.raises(UserError, match=r"^There is no Ray cluster at '127\.0\.0\.1:1': start one"):
        launch({"a": ""}, address="127.0.0.1:1")


def test_ray_is_asked_for_where_it_is_missing(launch, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UserError, match=r"needs Ray: pip install 'pe_lab\[ray\]'"):
        launch({"a": ""})


@pytest.mark.parametrize("wrong", [dict(cpus=0), dict(gpus=-1), dict(workers=0), dict(minutes=3)])
def test_wrong_resources_are_refused(wrong):
    with pytest.raises(UserError):
        launcher({"name": "ray", **wrong})
