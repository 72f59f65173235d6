"""Python scripts stand in for the commands of Slurm; tests/cluster has the real ones."""

import os
import sys

import pytest

from pe_lab.sweeps.launchers import slurm
from pe_lab.sweeps.launchers.base import launcher

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
        f'test "$1 $2 $3" = "-P -m pe_lab.training.process" && '
        f'exec "{sys.executable}" -S "$4" "$5"',
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
