"""Sweeps that a real Slurm cluster runs, and their processes."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
STUDY = """
from ml_collections import ConfigDict
from pe_lab.runs import grid
from tests import tiny

def get_config():
    return ConfigDict(tiny.values(
        train__steps=1500,
        checkpoints__interval=1.0,
        execution__chunk_steps=20,
        evaluate__curve_every=750,
    ))

def sweep():
    names = ("rope", "t5_bias", "alibi")
    return grid.product({"model.encodings": [({"name": name},) for name in names]})
"""
PATIENCE = 600  # seconds


def begun(tmp_path, folder, environment, *arguments, study=STUDY):
    config = tmp_path / "study.py"
    config.write_text(study, encoding="utf-8")
    command = [
        sys.executable,
        "-m",
        "pe_lab",
        "sweep",
        str(config),
        f"--results={folder}",
        *arguments,
    ]
    env = {k: v for k, v in environment.items() if k != "JAX_NUMPY_RANK_PROMOTION"} | {
        "COLUMNS": "100",
        "PYTHONPATH": str(ROOT),
    }
    # A process inherits that a signal is ignored, and jobs in the background ignore this one.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        command, cwd=ROOT, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


class Sweep:
    """A sweep that Slurm runs."""

    def __init__(self, cluster, tmp_path, *arguments, study=STUDY):
        self.cluster, self.folder = cluster, tmp_path / "study"
        self.process = begun(
            tmp_path,
            self.folder,
            cluster.environment,
            "--config.launcher.name=slurm",
            *arguments,
            study=study,
        )

    def group_at(self, node=None):
        """A run group that trains, on that node; its task and the id of its process."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            for file in sorted((self.folder / "groups").glob("*.json")):
                trains = '"event": "progress"' in text_of(self.folder / "progress" / file.name)
                if (
                    trains
                    and (found := process_of(file))
                    and node in (None, found[1]["SLURMD_NODENAME"])
                ):
                    pid, env = found
                    return (
                        file.stem,
                        f"{env['SLURM_ARRAY_JOB_ID']}_{env['SLURM_ARRAY_TASK_ID']}",
                        pid,
                    )
            self.hurry()
            time.sleep(0.1)
        pytest.fail(
            f"no run group trains: {self.cluster.run('squeue')}{self.process.communicate()}"
        )

    def hurry(self):
        """Start requeued tasks now: Slurm would wait for two minutes."""
        for line in self.cluster.run("squeue", "-h", "-r", "-o", "%i %r").splitlines():
            if line.endswith(" BeginTime"):
                self.cluster.run(
                    "scontrol", "update", f"JobId={line.split()[0]}", "StartTime=now", check=False
                )

    def said(self):
        """What it has said when it has ended."""
        until = time.monotonic() + PATIENCE
        while self.process.poll() is None:
            self.hurry()
            assert time.monotonic() < until, self.cluster.run("squeue")
            time.sleep(0.5)
        self.out, self.errors = self.process.communicate()
        return self.out

    def states(self):
        """How every try of every task ended, as the accounts have it."""
        arrays = {
            file.name.partition("_")[0] for file in (self.folder / "slurm").glob("[0-9]*.log")
        }
        return self.cluster.run("sacct", "-nPXD", "-o", "State", "-j", ",".join(arrays)).split(
            "\n"
        )[:-1]


def text_of(file):
    return file.read_text(encoding="utf-8") if file.exists() else ""


def process_of(file):
    """The process that trains a run group of Slurm's, and its environment."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            command = (folder / "cmdline").read_text().split("\0")
            if command[1:5] == ["-P", "-m", "pe_lab.training.process", str(file)]:
                return int(folder.name), dict(
                    v.split("=", 1)
                    for v in (folder / "environ").read_text().split("\0")
                    if "=" in v
                )
    return None
