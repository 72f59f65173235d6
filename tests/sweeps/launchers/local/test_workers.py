"""Workers of the local launcher train run groups, and are started again when they die."""

import os
import time
from collections import Counter
from pathlib import Path

import pytest

from pe_lab.runs.records import run_group_files
from pe_lab.runs.system import locks
from pe_lab.sweeps.launchers import _group_process, base, local
from tests.sweeps.launchers.local.events import kinds


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_or_killed_worker_does_not_stop_the_others(launch, workers):
    killed = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    statuses, events = launch(
        {"bad": "raise SystemExit(3)", "dead": killed, "typo": "def f(:", "good": ""}, workers
    )
    assert statuses == {"bad": 3, "dead": -9, "typo": 1, "good": 0}
    expected = Counter((group, kind) for group in statuses for kind in ("started", "ended"))
    assert Counter(kinds(events)) == expected + Counter([("dead", "died"), ("dead", "started")])
    assert {
        group: event["status"] for group, event in events if event["event"] == "ended"
    } == statuses


def test_a_group_that_is_killed_within_a_report_ends(launch):
    """The unfinished line must not hide the worker's report that the group has ended."""
    killed = """
import os, signal
(pipe,) = (c.cell_contents for c in report.__closure__)
os.write(pipe.fileno(), bytes([0, 0, 1, 0]) + b'{"event": "progress", ')  # 22 of 256 bytes
os.kill(os.getpid(), signal.SIGKILL)
"""
    statuses, _ = launch({"dead": killed, "good": ""})
    assert statuses == {"dead": -9, "good": 0}


def test_a_group_whose_worker_dies_is_tried_once_more(launch):
    """A worker that dies at its first try, as one does that the system has ended for want of
    memory.
    """
    once = (
        "import os, pathlib, signal, sys; p = pathlib.Path(sys.argv[1] + '.tried'); "
        "p.exists() or p.touch() or os.kill(os.getpid(), 9)"
    )
    statuses, events = launch({"a": once, "b": ""})
    assert statuses == {"a": 0, "b": 0}
    assert kinds(events) == [
        ("a", "started"),
        ("a", "died"),
        ("b", "started"),
        ("b", "ended"),
        ("a", "started"),
        ("a", "ended"),
    ]
    assert ("a", {"event": "died", "signal": 9}) in events


def test_one_server_forks_all_groups_of_all_workers(launch):
    program = 'import os; report({"event": "here", "of": os.getppid(), "is": os.getpid()})'
    here = []
    for workers in (1, 2):
        _, events = launch({"a": program, "b": program, "c": program}, workers)
        here += [event for _, event in events if event["event"] == "here"]
    assert len({event["of"] for event in here}) == 1
    assert len({event["is"] for event in here}) == 6


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_a_group_that_has_closed_or_removed_its_streams_reports_its_end(launch, stream):
    waits = "import sys, threading, time; threading.Thread(target=time.sleep, args=(60,)).start()"
    start = time.monotonic()
    statuses, _ = launch(
        {
            "closed": f"{waits}; sys.{stream}.close()",
            "none": f"{waits}; sys.{stream} = None",
            "failed": f"{waits}; sys.{stream}.close(); sys.exit(3)",
        },
        workers=3,
    )
    assert statuses == {"closed": 0, "none": 0, "failed": 3}
    assert time.monotonic() - start < 50


def test_a_server_that_is_killed_above_its_group_is_started_again(launch):
    """The end of its groups is not known, so they are killed and tried once more."""
    first = 'is_again or __import__("os").kill(__import__("os").getppid(), 9) or time.sleep(60)'
    statuses, events = launch({"a": f'import time; {first}; report({{"event": "here"}})', "b": ""})
    assert statuses == {"a": 0, "b": 0}
    assert kinds(events) == [
        ("a", "started"),
        ("a", "died"),
        ("b", "started"),
        ("b", "ended"),
        ("a", "started"),
        ("a", "here"),
        ("a", "ended"),
    ]


# A data loader that holds all files of its run group open.
LEAVES = """
import os, time
child = os.fork()
if not child:
    time.sleep(60)
    os._exit(0)
report({"event": "left behind", "pid": child})
"""
ENDS = {"": 0, "os.kill(os.getpid(), 9)": -9, "os._exit(0)": 1, "raise SystemExit(3)": 3}


@pytest.mark.parametrize("end", ENDS)
def test_the_end_of_a_group_is_noticed_and_what_it_has_left_behind_is_killed(launch, end):
    statuses, events = launch({"a": LEAVES + end, "b": ""})
    assert statuses == {"a": ENDS[end], "b": 0}
    for pid in [event["pid"] for _, event in events if "pid" in event]:
        wait_for_death(pid)


def wait_for_death(pid):
    for _ in range(200):
        try:
            os.kill(pid, 0)
            state = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2]
        except (ProcessLookupError, FileNotFoundError):
            return
        if state == "Z":  # a container may have no process that removes it
            return
        time.sleep(0.05)
    raise AssertionError(f"{pid} lives")


def test_a_pipe_that_a_group_has_closed_or_filled_with_noise_is_not_its_end(launch):
    closes = "import os; (pipe,) = (c.cell_contents for c in report.__closure__); "
    slowly = "; import time; time.sleep(0.3)"
    programs = {
        "closes": closes + "pipe.close()" + slowly,
        "noise": closes + "os.write(pipe.fileno(), bytes([255] * 50))" + slowly,
        "no object": closes + "pipe.send_bytes(b'3')" + slowly,
        "good": "",
    }
    statuses, events = launch(programs)
    assert statuses == {"closes": 1, "noise": 1, "no object": 1, "good": 0}
    assert kinds(events) == [(group, kind) for group in programs for kind in ("started", "ended")]


def test_a_folder_that_cannot_be_written_fails_its_groups_and_not_the_sweep(launch, tmp_path):
    (tmp_path / "logs").write_text("in the way of the folder of logs", encoding="utf-8")
    statuses, events = launch({"a": "", "b": ""})
    assert statuses == {"a": 1, "b": 1}
    assert ["logs" in event["error"] for _, event in events if event["event"] == "ended"] == [
        True,
        True,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_group_that_another_sweep_is_at_waits_until_all_others_are_done(
    launch, tmp_path, monkeypatch, workers
):
    monkeypatch.setattr(local, "_LOOK_AGAIN", 0.05)
    events, others = [], locks.held(tmp_path / "taken.lock")
    assert others.__enter__()

    def on_event(group, event):
        events.append((group, event))
        if (group, event["event"]) == ("late", "ended"):
            others.__exit__(None, None, None)

    refuses = (
        f"import pathlib, sys; p = pathlib.Path(sys.argv[1] + '.tried'); sys.exit(0 if "
        f"p.exists() else p.touch() or {locks.LATER})"
    )
    statuses, _ = launch(
        {"taken": "", "refuses": refuses, "late": "import time; time.sleep(0.5)"}, workers, on_event
    )
    assert statuses == {"taken": 0, "refuses": 0, "late": 0}
    order = kinds(events)
    assert (
        order.index(("taken", "elsewhere"))
        < order.index(("late", "ended"))
        < order.index(("taken", "started"))
    )
    assert order.count(("refuses", "started")) == 2
    assert order.count(("refuses", "ended")) == 1


def test_a_group_that_lost_the_race_for_its_lock_is_no_preempted_one(launch, monkeypatch):
    """Its process found the lock of another sweep, which has ended since."""
    monkeypatch.setattr(local, "_LOOK_AGAIN", 0.05)
    first = (
        "import pathlib, sys; p = pathlib.Path(sys.argv[1] + '.tried'); tried = p.exists(); "
        "p.touch()"
    )
    program = (
        f"{first}; tried or report({{'event': 'elsewhere'}}); sys.exit(0 if tried else "
        f"{locks.LATER})"
    )
    statuses, events = launch({"a": program})
    assert statuses == {"a": 0}
    assert ("a", "elsewhere") in kinds(events)
    assert ("a", "left") not in kinds(events)


def test_more_workers_than_groups_run_each_group_once(launch):
    statuses, events = launch({"a": "", "b": ""}, workers=5)
    assert statuses == {"a": 0, "b": 0}
    assert sum(kind == "started" for _, kind in kinds(events)) == 2


def test_no_groups_are_no_work(launch):
    assert launch({}) == ({}, [])


@pytest.mark.parametrize("status", [0, 3, locks.LATER])
def test_a_group_that_ends_without_its_report_has_failed_whatever_its_status(
    launch, tmp_path, status
):
    """A plugin, or a C library, may call exit."""
    statuses, events = launch({"a": f"import os; os._exit({status})", "b": ""})
    assert statuses == {"a": 1, "b": 0}
    assert kinds(events) == [(group, kind) for group in "ab" for kind in ("started", "ended")]
    log = (tmp_path / "logs" / "a.log").read_text(encoding="utf-8")
    assert log == f"The process ended itself with status {status}, before its end.\n"


def test_a_group_that_took_longer_than_its_time_limit_is_not_tried_again(launch):
    alarm = "import signal; signal.setitimer(signal.ITIMER_REAL, 0.05); signal.pause()"
    statuses, events = launch({"a": alarm, "b": ""})
    assert statuses == {"a": base.TIME_LIMIT, "b": 0}
    assert kinds(events) == [(group, kind) for group in "ab" for kind in ("started", "ended")]


@pytest.mark.parametrize("program", ["os.kill(os.getpid(), signal.SIGSTOP)", "signal.pause()"])
def test_the_sweep_keeps_the_time_limit_of_a_group_that_cannot(launch, monkeypatch, program):
    """It is stopped, or its timer is gone."""
    limits = {"a.json": 0.2}
    monkeypatch.setattr(run_group_files, "time_limit", lambda file: limits.get(file.name))
    monkeypatch.setattr(_group_process, "_LIMIT_GRACE", 0.2)
    statuses, events = launch({"a": f"import os, signal; {program}", "b": ""})
    assert statuses == {"a": base.TIME_LIMIT, "b": 0}
    assert kinds(events) == [(group, kind) for group in "ab" for kind in ("started", "ended")]


@pytest.mark.slow
def test_processes_that_start_afresh_do_the_same_as_forks(launch, monkeypatch, tmp_path):
    """As on macOS."""
    monkeypatch.setattr(_group_process, "METHOD", "spawn")
    killed = "import os; is_again or os.kill(os.getpid(), 9)"
    prints = 'print("hello"); report({"event": "progress", "step": 3})'
    statuses, events = launch({"killed": killed, "prints": prints, "bad": "1 / 0"}, workers=2)
    assert statuses == {"killed": 0, "prints": 0, "bad": 1}
    assert Counter(kinds(events)) == Counter(
        {
            ("killed", "started"): 2,
            ("killed", "died"): 1,
            ("killed", "ended"): 1,
            **{(name, kind): 1 for name in ("prints", "bad") for kind in ("started", "ended")},
            ("prints", "progress"): 1,
        }
    )
    assert (tmp_path / "logs" / "prints.log").read_text(encoding="utf-8") == "hello\n"
