"""What may happen to a sweep: killed at any moment, a full disk, a folder that may only be read,
damaged files.

A rerun ends with the rows of an unbroken sweep, to the last digit.
"""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pe_lab.runs.records import records
from tests.record_values import measured

ROOT = Path(__file__).parents[2]
KILLS = 30
STUDY = """
from ml_collections import ConfigDict
from pe_lab.runs import grid
from tests import tiny

def get_config():
    values = tiny.values(
        train__steps=3000,
        checkpoints__interval=0.0,
        execution__chunk_steps=20,
        evaluate__curve_every=1500,
    )
    return ConfigDict(values)

def sweep():
    encodings = [({"name": "rope"},), ({"name": "t5_bias"},)]
    return grid.product({"model.encodings": encodings, "seed": [0, 1]})
"""
WIDE = """
from ml_collections import ConfigDict
from pe_lab.runs import grid
from tests import tiny

def get_config():
    return ConfigDict(tiny.values())

def sweep():
    return grid.product({"model.feedforward_width": [16, 400_000]})
"""
DATA = 1_200_000_000  # bytes that a process may have: enough for the narrow model
pytestmark = pytest.mark.full


def command(tmp_path, folder, study=STUDY):
    config = tmp_path / "study.py"
    config.write_text(study, encoding="utf-8")
    return [
        sys.executable,
        "-m",
        "pe_lab",
        "sweep",
        str(config),
        f"--results={folder}",
        "--workers=2",
    ]


def environment():
    env = {k: v for k, v in os.environ.items() if k != "JAX_NUMPY_RANK_PROMOTION"}
    return {**env, "COLUMNS": "100", "PYTHONPATH": str(ROOT)}


def sweep(tmp_path, folder, study=STUDY, before=()):
    line = [*before, *command(tmp_path, folder, study)]
    return subprocess.run(
        line, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("unbroken")
    done = sweep(tmp_path, tmp_path / "study")
    assert done.returncode == 0, done.stderr
    return measured(tmp_path / "study")


def children(pid):
    """Of all its threads, each of which starts a worker, and what workers have forked."""
    try:
        found = [
            int(n)
            for file in Path(f"/proc/{pid}/task").glob("*/children")
            for n in file.read_text().split()
        ]
    except OSError:
        return []
    return found + [n for child in found for n in children(child)]


def started(sweep):
    """Its workers, once it has some, however slowly it starts; none if it ends before."""
    while not (found := children(sweep.pid)) and sweep.poll() is None:
        time.sleep(0.1)
    return found


def send(pid, number):
    """Whether there was a process to send it to."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="children are found in /proc")
def test_kills_at_any_moment_change_nothing(tmp_path, unbroken):
    """Workers and the sweep itself, ended with and without a warning, started again at once."""
    folder, draw, kills = tmp_path / "study", random.Random(0), []
    while len(kills) < KILLS:
        with subprocess.Popen(
            command(tmp_path, folder),
            cwd=ROOT,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        ) as one:
            while one.poll() is None and len(kills) < KILLS:
                time.sleep(draw.uniform(0.0, 4.0))
                victims = [one.pid] if draw.random() < 1 / 3 else started(one)
                number = draw.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM])
                if victims and one.poll() is None and send(victim := draw.choice(victims), number):
                    kills.append((victim == one.pid, number))
            one.kill() if len(kills) == KILLS else None
        if (
            one.returncode == 0 and len(kills) < KILLS
        ):  # it got through: one of its run groups begins again
            lost = draw.choice(sorted((folder / "records").glob("*.json")))
            group = records.read(lost)["checkpoint"]["run_group"]
            lost.unlink()
            shutil.rmtree(folder / "checkpoints" / group)
    assert {own for own, _ in kills} == {True, False}
    done = sweep(tmp_path, folder)
    assert done.returncode == 0, done.stderr
    assert measured(folder) == unbroken


@pytest.mark.skipif(shutil.which("prlimit") is None, reason="memory is limited by prlimit")
def test_a_group_that_does_not_fit_into_memory_fails_alone_and_a_rerun_with_room_ends_alike(
    tmp_path,
):
    done = sweep(tmp_path, tmp_path / "study", WIDE, before=["prlimit", f"--data={DATA}"])
    assert done.returncode == 1
    assert "RESOURCE_EXHAUSTED: Out of memory" in done.stderr
    assert sorted(r["status"] for r in records.read_all(tmp_path / "study").values()) == [
        "failed",
        "finished",
    ]
    for folder in ("study", "unbroken"):
        assert sweep(tmp_path, tmp_path / folder, WIDE).returncode == 0
    assert measured(tmp_path / "study") == measured(tmp_path / "unbroken")


@pytest.fixture
def disk(tmp_path):
    """A small file system of its own."""
    mounted = tmp_path / "disk"
    mounted.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=96k", "tmpfs", str(mounted)],
        capture_output=True,
        check=False,
    ).returncode:
        pytest.skip("this process may not mount a file system")
    yield mounted
    subprocess.run(["umount", "-l", str(mounted)], check=True)


def remount(disk, options):
    subprocess.run(["mount", "-o", f"remount,{options}", str(disk)], check=True)


def test_a_full_disk_fails_what_does_not_fit_and_a_rerun_with_room_ends_alike(
    tmp_path, disk, unbroken
):
    done = sweep(tmp_path, disk / "study")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    remount(disk, "size=64m")
    done = sweep(tmp_path, disk / "study")
    assert done.returncode == 0, done.stderr
    assert measured(disk / "study") == unbroken


def test_a_folder_that_may_only_be_read_is_refused_with_a_sentence(tmp_path, disk):
    remount(disk, "ro")
    done = sweep(tmp_path, disk / "study")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith(f"error: The results folder {disk / 'study'} cannot be written (")


def test_damaged_records_and_checkpoints_are_set_aside_and_trained_again(tmp_path, unbroken):
    folder = tmp_path / "study"
    assert sweep(tmp_path, folder).returncode == 0
    first, second = sorted((folder / "records").glob("*.json"))[:2]
    groups = {path: records.read(path)["checkpoint"]["run_group"] for path in (first, second)}
    first.write_text(first.read_text()[:100], encoding="utf-8")
    second.write_text(
        json.dumps({**json.loads(second.read_text()), "status": "diverged"}), encoding="utf-8"
    )
    for file in (folder / "checkpoints" / groups[first]).rglob("*"):
        if file.is_file():
            file.write_bytes(b"")
    done = sweep(tmp_path, folder)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(" is damaged (") == 3  # two records, and the checkpoint of one
    assert len(list((folder / "records").glob("*.damaged-1"))) == 2
    assert measured(folder) == unbroken
