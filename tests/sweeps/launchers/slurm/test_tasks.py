"""The launcher runs and ends tasks of Slurm, whose commands are Python scripts here."""

import pytest

from pe_lab.sweeps.launchers import _slurm_queue
from tests.sweeps.launchers.cluster_tasks import check_all_ends, kinds

pytest.importorskip("submitit", reason="submitit is not installed: pip install 'pe_lab[slurm]'")


@pytest.mark.slow
def test_statuses_are_those_of_the_local_launcher_whatever_happens_to_a_task(launch):
    """The cluster puts nothing back into its queue, so the launcher submits tasks again."""
    check_all_ends(launch, launch.folder)
    # Nothing of it is pickled.
    assert {file.suffix for file in (launch.folder / "slurm").iterdir()} == {".sh"}


@pytest.mark.slow
def test_a_restart_is_seen_though_the_task_was_never_seen_waiting(launch):
    """Slurm may start a requeued task again between two looks at the queue."""
    events, seen = [], launch.played / "seen"

    def on_event(group, event):
        events.append(event["event"])
        if events == ["queued", "started"]:
            (launch.played / "restarts-1_0").write_text("1", encoding="utf-8")
        if events[-2:] == ["left", "started"]:
            seen.touch()

    until_seen = (
        f"import pathlib, time\nfor _ in range(1200):\n    if "
        f"pathlib.Path({str(seen)!r}).exists(): break\n    time.sleep(0.05)"
    )
    launch({"a": until_seen}, on_event)
    assert events == ["queued", "started", "left", "started", "ended"]


def test_what_a_group_said_last_is_an_event_and_what_an_earlier_one_said_is_not(launch):
    (launch.folder / "progress").mkdir()
    for group in ("a", "b"):
        (launch.folder / "progress" / f"{group}.json").write_text(
            '{"event": "progress", "step": 1}', encoding="utf-8"
        )
    says = (
        "import pathlib, sys; pathlib.Path(sys.argv[1], 'progress', "
        '\'a.json\').write_text(\'{"event": "progress", "step": 5}\')'
    )
    _, events = launch({"a": says, "b": ""})
    assert [(group, event) for group, event in events if "step" in event] == [
        ("a", {"event": "progress", "step": 5})
    ]


def test_no_log_is_written_through_a_link(launch, tmp_path):
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    (launch.folder / "logs").mkdir()
    (launch.folder / "logs" / "b.log").symlink_to(tmp_path / "mine.txt")
    with pytest.raises(OSError, match="symbolic links"):
        launch({"a": "", "b": ""})
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"
    assert not list(launch.played.glob("job-*"))


SEEN = """
import os, pathlib, sys
seen = os.environ.get("XLA_FLAGS", "") + os.environ["JAX_COMPILATION_CACHE_DIR"]
pathlib.Path(sys.argv[0] + ".seen").write_text(seen)
"""


@pytest.mark.parametrize(
    ("cpus", "flags"),
    [(1, "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"), (3, "")],
)
def test_a_task_of_one_core_has_one_thread_and_all_have_the_folder_of_compiled_programs(
    launch, monkeypatch, cpus, flags
):
    monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", "/of/compiled programs")
    statuses, _ = launch({"a": SEEN}, cpus=cpus)
    assert statuses == {"a": 0}, launch.output()
    assert (launch.folder / "groups" / "a.json.seen").read_text(
        encoding="utf-8"
    ) == f"{flags}/of/compiled programs"


def test_no_groups_are_no_work(launch):
    assert launch({}) == ({}, [])
    assert not list(launch.played.glob("job-*"))


def test_ctrl_c_cancels_the_tasks(launch):
    def on_event(group, event):
        if event["event"] == "started":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        launch({"a": "import time; time.sleep(1)", "b": ""}, on_event)
    assert (launch.played / "cancelled").read_text(encoding="utf-8") == "1"


@pytest.mark.slow
def test_a_group_that_slurm_takes_no_more_ends_as_it_was_and_the_others_go_on(launch):
    refuses = launch.played / "sbatch"
    dies = (
        f"import os, pathlib; pathlib.Path({str(refuses)!r}).write_text('#!/bin/sh\\nexit "
        f"1\\n'); os.kill(os.getpid(), 9)"
    )
    statuses, events = launch({"a": dies, "b": "import time; time.sleep(1)"})
    assert statuses == {"a": -9, "b": 0}
    assert "Slurm does not take the run groups" in next(
        e["error"] for group, e in events if (group, e["event"]) == ("a", "ended")
    )


ACCOUNTS = [
    ("COMPLETED", "0:0", 0),
    ("FAILED", "1:0", 1),
    ("FAILED", "75:0", 75),
    ("FAILED", "127:0", 127),
    ("FAILED", "109:0", -9),
    ("FAILED", "0:9", -9),
    ("OUT_OF_MEMORY", "0:125", -9),
    ("NODE_FAIL", "0:0", -9),
    ("TIMEOUT", "0:0", -9),
    ("CANCELLED by 0", "0:0", -15),
    ("REQUEUED", "0:0", None),
    ("RUNNING", "0:0", None),
]


@pytest.mark.parametrize(("state", "code", "status"), ACCOUNTS)
def test_accounts_say_how_a_task_ended(state, code, status):
    assert _slurm_queue.status_of({"State": state, "ExitCode": code}) == status
    assert _slurm_queue.status_of({}) is None


def test_a_task_that_was_cancelled_is_not_tried_again(launch, monkeypatch):
    monkeypatch.setattr(_slurm_queue, "ended", lambda tasks: dict.fromkeys(tasks, -15))
    statuses, events = launch({"a": ""})
    assert statuses == {"a": -15}
    assert kinds(events, "a") == ["queued", "ended"]
