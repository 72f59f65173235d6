"""The local launcher shares GPUs and cores among its workers."""

import importlib.util
import os
from pathlib import Path

import pytest

from pe_lab.sweeps.launchers import local

# Ends when two run groups have started, so that no worker takes the run groups of another.
TOGETHER = """
import json, os, sys, time
from pathlib import Path
Path(sys.argv[1], sys.argv[0] + ".here").touch()
for _ in range(1000):
    if len(list(Path(sys.argv[1]).glob("*.here"))) == 2:
        break
    time.sleep(0.02)
seen = {"gpu": os.environ.get("CUDA_VISIBLE_DEVICES"), "flags": "XLA_FLAGS" in os.environ}
cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
report({"event": "placed", **seen, "cores": cores})
"""


def test_where_there_are_gpus_every_worker_has_one_and_is_not_pinned(launch, monkeypatch):
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(local, "gpus", lambda: ["0", "1"])
    _, events = launch({"a": TOGETHER, "b": TOGETHER}, workers=2)
    placed = sorted((e["gpu"], e["flags"], e["cores"]) for _, e in events if e["event"] == "placed")
    cores = local.available_cores() if hasattr(os, "sched_getaffinity") else None
    assert placed == [("0", False, cores), ("1", False, cores)]


SHARES = [
    (1, ["0,1,2,3"]),
    (2, ["0,2", "1,3"]),
    (3, ["0,3", "1", "2"]),
    (5, ["0", "1", "2", "3", "0"]),
]


@pytest.mark.parametrize(("workers", "shares"), SHARES)
def test_fewer_workers_than_gpus_share_them_and_more_take_turns(monkeypatch, workers, shares):
    monkeypatch.setattr(local, "gpus", lambda: ["0", "1", "2", "3"])
    assert [
        local.Place.of(i, workers).environment()["CUDA_VISIBLE_DEVICES"] for i in range(workers)
    ] == shares


@pytest.mark.parametrize(
    ("gpus", "expected"), [(["0", "1", "7"], 3), ([], len(local.available_cores()))]
)
def test_there_is_a_worker_a_gpu_or_else_a_core(monkeypatch, gpus, expected):
    monkeypatch.setattr(local, "gpus", lambda: gpus)
    assert local.default_workers() == expected


def test_gpus_are_those_that_jax_and_cuda_are_told_to_use(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)
    monkeypatch.setattr(Path, "glob", lambda *args: [Path("/dev/nvidia0"), Path("/dev/nvidia1")])
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    counted = {}
    for platforms in ("cpu", "cuda", "gpu", ""):
        monkeypatch.setenv("JAX_PLATFORMS", platforms)
        counted[platforms] = local.gpus()
    assert counted == {"cpu": [], "cuda": ["0", "1"], "gpu": ["0", "1"], "": ["0", "1"]}
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,5,6")
    assert local.gpus() == ["3", "5", "6"]
    for hidden in ("", "-1", "-1,0"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
        assert local.gpus() == []
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,-1,6")
    assert local.gpus() == ["3"]
