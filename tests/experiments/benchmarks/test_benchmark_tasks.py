"""The command times every task."""

import json
import re
import sys

import pytest

from experiments import benchmark_tasks
from experiments.benchmarks import throughput
from pe_lab import cli
from pe_lab.runs import plugins

pytestmark = pytest.mark.slow


@pytest.fixture
def call_tasks(monkeypatch, capsys):
    """Arguments to (exit status, stdout, stderr)."""

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["experiments.benchmark_tasks", *arguments])
        with pytest.raises(SystemExit) as exited:
            cli.main_of(benchmark_tasks, "python -m experiments.benchmark_tasks")
        return exited.value.code, *capsys.readouterr()

    return run


@pytest.mark.full
def test_every_task_is_timed_on_one_core_in_a_process_of_its_own(call_tasks, tmp_path, monkeypatch):
    names = plugins.names
    monkeypatch.setattr(
        plugins,
        "names",
        lambda family: ["parity", "language_model", "copy"] if family == "tasks" else names(family),
    )
    out = tmp_path / "tasks.json"
    out.write_text("[7]")
    status, said, err = call_tasks(f"--out={out}")
    assert (status, err) == (0, "")
    older, *found = json.loads(out.read_text())
    assert (older, [each["task"] for each in found]) == (7, ["parity", "language_model", "copy"])
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
    monkeypatch.setattr(throughput, "_CALLS", 3)
    parity = plugins.find("tasks", "parity")
    monkeypatch.setattr(parity, "data", lambda self, split: 3)
    found = throughput.measure("parity")
    assert (found["goal"], found["error"], found["unit"]) == (None, None, "bits")
    monkeypatch.setattr(parity, "sample", lambda *_: 1 / 0)
    assert throughput.measure("parity") == {
        "task": "parity",
        **dict.fromkeys(throughput.FIGURES),
        "error": "division by zero",
    }


def test_the_length_is_the_nearest_that_a_task_has(monkeypatch):
    for name, length in (("max_length", 12), ("min_length", 50)):
        with monkeypatch.context() as patched:
            patched.setattr(throughput, "_CALLS", 3)
            patched.setattr(plugins.find("tasks", "parity"), name, length)
            assert throughput.measure("parity")["length"] == length


def test_tasks_need_no_config_and_refuse_a_wrong_flag_or_file(call_tasks, tmp_path, monkeypatch):
    monkeypatch.setattr(throughput, "table", None)
    status, out, err = call_tasks("--ouf=x")
    assert (status, out) == (2, "")
    assert err.startswith(
        "error: python -m experiments.benchmark_tasks has no '--ouf'. Did you mean '--out'?"
    )
    status, out, err = call_tasks(f"--out={tmp_path}")
    assert (status, out) == (2, "")
    assert err.startswith(f"error: --out={tmp_path} cannot be read (")
