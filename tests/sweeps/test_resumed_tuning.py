"""A tuned study whose sweep is killed and started again. Training is replaced by made-up records."""

import importlib
import json
import math
import sys
from types import SimpleNamespace

import pytest
from absl import flags

from pe_lab.runs import evaluation_points, grid, record_rows, records
from pe_lab.sweeps import tuning
from pe_lab.training import run_records
from tests import tiny
from tests.marks import full_except

RATE = "train.learning_rate"
BEST = {"nope": 3e-3, "alibi": 1e-2}  # ALiBi's is at the edge, and gets one more value
POINTS = grid.product({"model.encodings": [({"name": name},) for name in BEST]}, {"seed": range(3)})
TUNE = tuning.Tuning({RATE: (1e-3, 3e-3, 1e-2)}, seeds=2, extend=True)
FIRST, EXTENDED, LAST = 2 * 3 * 2, 2, 2  # runs of each stage


class Killed(BaseException):
    """As if the process had been killed."""


@pytest.fixture(scope="module")
def command():
    """The entry point, without its flags: other tests define flags of these names."""
    with pytest.MonkeyPatch.context() as patched:
        for kind in ("string", "integer", "bool"):
            unset = SimpleNamespace(value=None)
            patched.setattr(flags, f"DEFINE_{kind}", lambda *args, unset=unset, **more: unset)
        module = importlib.import_module("experiments.sweep")
    del sys.modules["experiments.sweep"]
    return module


@pytest.fixture(scope="module")
def sweep(command):
    """Start the sweep in a folder, kill it after some runs, and return the ids that it trained."""

    def start(folder, kill_after=None):
        trained = []

        def train(todo, launcher):
            todo.study.write(folder)
            for run in [run for group in todo.groups for run in group.runs]:
                if len(trained) == kill_after:
                    raise Killed
                records.write(folder, finished(run))
                trained.append(run.run_id)
            return {}

        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(command.sweep, "run", train)
            patched.setattr(command.tables, "show", lambda folder: None)
            patched.setattr(command, "RESULTS", SimpleNamespace(value=str(folder)))
            try:
                command.run("tuned", tiny.values(), POINTS, None, TUNE)
            except Killed:
                assert len(trained) == kill_after
        return trained

    return start


@pytest.fixture(scope="module")
def unbroken(sweep, tmp_path_factory):
    """The folder of a sweep that was not killed, and the ids of its runs."""
    folder = tmp_path_factory.mktemp("unbroken")
    return folder, sweep(folder)


def finished(run):
    """A record with all rows, whose loss depends on the encoding, the rate and the seed."""
    (encoding,) = run.model.encodings
    loss = abs(math.log10(run.train.learning_rate / BEST[encoding.name])) + 0.01 * run.seed
    rows = [
        record_rows.row(p.split, p.length, p.offset, "negative_log_likelihood", loss, 16)
        for p in evaluation_points.grid(run)
    ]
    exposure = {"max_length": run.train.max_length, "solved_threshold": 0.99}
    parts = {"status": "finished", "rows": rows, "exposure": exposure}
    return {**run_records.blank(run), **parts}


def choices(folder):
    study = json.loads((folder / "study.json").read_text())
    by_variant = {c["variant"]["model.encodings"]: c for c in study["tuning"]["choices"]}
    assert {name: c["setting"][RATE] for name, c in by_variant.items()} == {
        "nope": "0.003",
        "alibi": "0.01",
    }
    return study


@pytest.mark.slow
@pytest.mark.parametrize(
    "kill_after",
    full_except(
        [FIRST // 2, FIRST + 1],
        [0, FIRST // 2, FIRST, FIRST + 1, FIRST + EXTENDED, FIRST + EXTENDED + 1],
    ),
)
def test_a_sweep_that_was_killed_chooses_what_an_unbroken_one_chooses(
    sweep, unbroken, tmp_path, kill_after
):
    folder, every_run = unbroken
    assert len(every_run) == FIRST + EXTENDED + LAST
    before = sweep(tmp_path, kill_after)
    after = sweep(tmp_path)
    assert len(before) == kill_after
    assert sorted(before + after) == sorted(every_run)  # none is trained twice
    assert choices(tmp_path) == choices(folder)
    assert records.read_all(tmp_path) == records.read_all(folder)
