"""The Ray launcher on a cluster of two raylets of this machine, of which one is killed."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pe_lab.runs.records import records

pytestmark = pytest.mark.cluster

STUDY = """
from ml_collections import ConfigDict
from pe_lab.runs import grid
from tests import tiny

def get_config():
    return ConfigDict(tiny.values(train__steps=400, checkpoints__interval=0.3))

def sweep():
    encodings = [(dict(name=name),) for name in ("rope", "alibi", "nope")]
    return grid.product({"model.encodings": encodings}, {"seed": range(2)})
"""


@pytest.fixture(scope="module")
def cluster():
    """A cluster with one raylet, and a function that adds another one."""
    utils = pytest.importorskip("ray.cluster_utils", reason="pip install 'pe_lab[ray]'")
    two = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    yield two
    two.shutdown()


@pytest.fixture
def start(tmp_path):
    """Start a sweep of the study with a launcher, into a folder."""
    root = Path(__file__).parents[2]
    (tmp_path / "study.py").write_text(STUDY, encoding="utf-8")

    def call(folder, *flags):
        command = [sys.executable, "-m", "pe_lab", "sweep", str(tmp_path / "study.py")]
        return subprocess.Popen(
            [*command, f"--results={folder}", *flags],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(root)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    return call


def on_ray(address):
    return "--config.launcher.name=ray", f"--config.launcher.address={address}"


def rows(folder):
    return {run_id: record["rows"] for run_id, record in records.read_all(folder).items()}


def test_rows_are_those_of_a_local_sweep_although_a_machine_dies(cluster, start, tmp_path):
    second = cluster.add_node(num_cpus=1)
    progress = tmp_path / "ray" / "progress"
    with start(tmp_path / "ray", *on_ray(cluster.address)) as process:
        while process.poll() is None and len([*progress.glob("*.json")]) < 2:
            time.sleep(0.1)
        cluster.remove_node(second, allow_graceful=False)  # both machines train
        out, err = process.communicate()
    assert process.returncode == 0, f"{out}\n{err}"
    assert "is tried once more" in out, out
    with start(tmp_path / "local", "--workers=2") as process:
        process.communicate()
    assert process.returncode == 0
    assert len(rows(tmp_path / "ray")) == 6
    assert rows(tmp_path / "ray") == rows(tmp_path / "local")


def test_no_cluster_is_one_sentence_and_status_2(start, tmp_path):
    with start(tmp_path / "nowhere", *on_ray("127.0.0.1:1")) as process:
        _, err = process.communicate()
    assert process.returncode == 2
    assert err.splitlines()[-1].startswith("error: There is no Ray cluster at '127.0.0.1:1': ")
