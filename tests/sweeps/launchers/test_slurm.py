"""The launcher against commands of Slurm's that a few lines of Python play; tests/cluster has the
real ones.
"""

import os
import sys

import pytest

from pe_lab.runs import locks, plugins
from pe_lab.runs.errors import UserError
from pe_lab.sweeps.launchers import _slurm_queue, slurm
from pe_lab.sweeps.launchers.base import launcher

pytest.importorskip("submitit", reason="submitit is not installed: pip install 'pe_lab[slurm]'")

# sbatch runs the tasks of an array at once, each in a process. What squeue and sacct report of them
# is in files.
PLAYED = """
import os, re, signal, subprocess, sys
from pathlib import Path
here, name, arguments = Path(__file__).parent, sys.argv[1], sys.argv[2:]
tasks = sorted(here.glob("task-*"))
if name == "sbatch":
    script = Path(arguments[0]).read_text()
    first, last, _ = map(int, re.search(r"--array='?(\\d+)-(\\d+)%(\\d+)", script).groups())
    job = 1 + len(list(here.glob("job-*")))
    (here / f"job-{job}").write_text(script)
    for i in range(first, last + 1):
        if not os.fork():
            os.setsid()
            task = here / f"task-{job}_{i}"
            output = os.open(here / f"output-{job}_{i}", os.O_WRONLY | os.O_CREAT)
            for stream in (1, 2):
                os.dup2(output, stream)
            variables = {"SLURM_ARRAY_TASK_ID": str(i), "SLURM_JOB_ID": f"{job}_{i}"}
            environment = {**os.environ, **variables}
            process = subprocess.Popen(["bash", here / f"job-{job}"], env=environment)
            task.write_text(f"RUNNING 0:0 {process.pid}")
            status = process.wait()
            task.write_text(f"{'FAILED' if status else 'COMPLETED'} {status % 128}:0 0")
            break
    else:
        print(f"Submitted batch job {job}")
elif name == "srun":
    options = [a for a in arguments if a.startswith("--")]
    error = next(a.partition("=")[2] for a in options if a.startswith("--error="))
    with open(error, "w") as log:
        status = subprocess.run(arguments[len(options):], stderr=log).returncode
    sys.exit(status if status >= 0 else 128 - status)
elif name == "squeue":
    for task in tasks:
        if task.read_text().startswith("RUNNING"):
            restarts = here / f"restarts-{task.name[5:]}"
            print(task.name[5:], "RUNNING", restarts.read_text() if restarts.exists() else 0)
elif name == "sacct":
    print("JobID|State|ExitCode")
    for task in tasks:
        print(task.name[5:], *task.read_text().split()[:2], sep="|")
elif name == "scontrol":
    sys.exit(1)  # a cluster that puts nothing back into its queue
elif name == "scancel":
    (here / "cancelled").write_text(" ".join(arguments))
"""


def _command(file, line):
    file.write_text(f"#!/bin/sh\n{line}\n", encoding="utf-8")
    file.chmod(0o755)


@pytest.fixture
def launch(tmp_path, monkeypatch):
    """Launches run groups that are Python programs as tasks of a played Slurm: name -> program, to
    statuses and events.
    """
    monkeypatch.setattr(slurm, "_LOOK_AGAIN", 0.1)
    played, folder = tmp_path / "slurm's", tmp_path / "a study"
    (folder / "groups").mkdir(parents=True)
    played.mkdir()
    _command(
        played / "python",
        f'test "$1 $2" = "-m pe_lab.training.process" && exec "{sys.executable}" -S "$3" "$4"',
    )
    for name in ("sbatch", "srun", "squeue", "sacct", "scancel", "scontrol"):
        _command(played / name, f'exec "{sys.executable}" -S "{played / "played.py"}" {name} "$@"')
    (played / "played.py").write_text(PLAYED, encoding="utf-8")
    monkeypatch.setenv("PATH", str(played), prepend=os.pathsep)
    monkeypatch.setattr(sys, "executable", str(played / "python"))
    monkeypatch.delenv("XLA_FLAGS", raising=False)

    def call(programs, on_event=None, **resources):
        events = []
        for name, program in programs.items():
            (folder / "groups" / f"{name}.json").write_text(program, encoding="utf-8")
        files = [folder / "groups" / f"{name}.json" for name in programs]
        statuses = launcher({"name": "slurm", **resources}).launch(
            files, folder, on_event or (lambda group, event: events.append((group, event)))
        )
        return statuses, events

    def output():
        """The output of the tasks' scripts and the logs of their groups."""
        files = [*played.glob("output-*"), *folder.glob("logs/*.log")]
        return "\n".join(f"{file.name}: {file.read_text(encoding='utf-8')}" for file in files)

    call.played, call.folder, call.output = played, folder, output
    return call


def kinds(events, group):
    return [
        event["event"] for name, event in events if name == group and event["event"] != "started"
    ]


TRIED = (
    "import os, pathlib, sys; p = pathlib.Path(sys.argv[0] + '.tried'); p.exists() or p.touch() or "
)


MARK = "pathlib.Path(sys.argv[0]).with_suffix('.later').touch()"


@pytest.mark.slow
def test_statuses_are_those_of_the_local_launcher_whatever_happens_to_a_task(launch):
    """One that dies is tried once more; one that has left, where the cluster puts nothing back into
    its queue, is submitted again.

    A plugin that ends its process with the status of a preempted one leaves no mark, and has
    failed.
    """
    programs = {
        "bad": 'import sys; print("oh no", file=sys.stderr); sys.exit(3)',
        "dead": "import os; os.kill(os.getpid(), 9)",
        "once": TRIED + "os.kill(os.getpid(), 9)",
        "left": TRIED + f"({MARK}, sys.exit({locks.LATER}))",
        "exits": f"import os; os._exit({locks.LATER})",
        "good": "",
    }
    statuses, events = launch(programs)
    assert statuses == {
        "bad": 3,
        "dead": -9,
        "once": 0,
        "left": 0,
        "exits": 1,
        "good": 0,
    }
    assert kinds(events, "good") == ["queued", "ended"] == kinds(events, "bad")
    assert kinds(events, "exits") == ["queued", "ended"]
    assert kinds(events, "dead") == ["queued", "died", "queued", "ended"] == kinds(events, "once")
    assert kinds(events, "left") == ["queued", "left", "queued", "ended"]
    assert ("dead", {"event": "died", "signal": 9}) in events
    assert (launch.folder / "logs" / "bad.log").read_text(encoding="utf-8") == "oh no\n"
    assert {file.suffix for file in (launch.folder / "slurm").iterdir()} == {
        ".sh"
    }  # nothing of it is pickled


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
