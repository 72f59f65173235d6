"""The command times every task."""

import functools
import json
import os
import re

import pytest

from experiments import benchmark_tasks
from pe_lab import cli
from pe_lab.runs.plugins import plugins

pytestmark = pytest.mark.slow


@pytest.fixture
def call(call_main):
    """Arguments to (exit status, stdout, stderr). The cores of this process stay as they were."""
    main = functools.partial(cli.main_of, benchmark_tasks, "python -m experiments.benchmark_tasks")
    cores = os.sched_getaffinity(0)
    yield functools.partial(call_main, main)
    os.sched_setaffinity(0, cores)


@pytest.mark.full
def test_every_task_is_timed_on_one_core(call, tmp_path, monkeypatch):
    find = plugins.names
    tasks = ["parity", "language_model", "copy"]
    monkeypatch.setattr(plugins, "names", lambda f: tasks if f == "tasks" else find(f))
    out = tmp_path / "tasks.json"
    out.write_text("[7]")
    status, said, err = call(f"--out={out}")
    assert (status, err) == (0, "")
    older, *found = json.loads(out.read_text())
    assert (older, [each["task"] for each in found]) == (7, tasks)
    for each in (found[0], found[2]):
        assert (each["length"], each["goal"], each["error"], each["cores"]) == (40, 2.0, None, 1)
        assert 0 < each["best_milliseconds"] <= each["milliseconds"] < each["compile_milliseconds"]
    assert found[1]["milliseconds"] is None
    assert "language_model" in found[1]["error"]
    lines = said.splitlines()
    assert lines[0].split() == ["task", "length", "ms", "best", "goal"]
    assert re.fullmatch(r"parity +40 bits +\d+\.\d{3} +\d+\.\d{3} +(over )?2", lines[1])
    assert lines[2] == f"{'language_model':28} {found[1]['error']}"


def test_a_task_that_fails_says_why_and_one_with_data_has_no_goal(monkeypatch):
    monkeypatch.setattr(benchmark_tasks, "_CALLS", 3)
    parity = plugins.find("tasks", "parity")
    monkeypatch.setattr(parity, "data", lambda self, split: 3)
    found = benchmark_tasks.measure("parity")
    assert (found["goal"], found["error"], found["unit"]) == (None, None, "bits")
    monkeypatch.setattr(parity, "sample", lambda *_: 1 / 0)
    assert benchmark_tasks.measure("parity") == {
        "task": "parity",
        **dict.fromkeys(benchmark_tasks.FIGURES),
        "error": "division by zero",
    }


@pytest.mark.parametrize(("name", "length"), [("max_length", 12), ("min_length", 50)])
def test_the_length_is_the_nearest_that_a_task_has(monkeypatch, name, length):
    monkeypatch.setattr(benchmark_tasks, "_CALLS", 3)
    monkeypatch.setattr(plugins.find("tasks", "parity"), name, length)
    assert benchmark_tasks.measure("parity")["length"] == length


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("--ouf=x", "python -m experiments.benchmark_tasks has no '--ouf'. Did you mean '--out'?"),
        ("--out=.", "--out=. cannot be read ("),
    ],
)
def test_a_wrong_flag_or_file_is_refused(call, monkeypatch, argument, sentence):
    monkeypatch.setattr(benchmark_tasks, "measure", None)
    status, out, err = call(argument)
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {sentence}")
