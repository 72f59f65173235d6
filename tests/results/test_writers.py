"""Records and curves in TensorBoard and W&B, with their libraries where they are installed, and
with fakes.
"""

import contextlib
import os
import re
import sqlite3
import sys
import types
from pathlib import Path

import pandas as pd
import pytest

from pe_lab import cli
from pe_lab.results import frame, writers
from pe_lab.runs import records
from pe_lab.runs.errors import UserError
from tests import record_values
from tests.experiments.entry_points import ROOT, call

STUDY = ROOT / "results" / "published" / "quickstart"


class RecordingWriter:
    """A writer that keeps its calls."""

    def __init__(self):
        self.points, self.rows, self.closed = [], {}, False

    def curve(self, step, values):
        self.points.append((step, values))

    def by_length(self, name, values):
        self.rows[name] = values

    def close(self):
        self.closed = True


@pytest.fixture(scope="module")
def record():
    return next(iter(records.read_all(STUDY).values()))


def test_a_writer_receives_every_point_of_the_curve_and_every_length_of_the_test(record):
    writer = RecordingWriter()
    writers.write(writer, record)
    assert [step for step, _ in writer.points] == [point["step"] for point in record["curve"]]
    last, said = record["curve"][-1], writer.points[-1][1]
    assert said["loss"] == last["loss"]
    assert {k: v for k, v in said.items() if k.startswith("exact")} == {
        f"exact_match/length {n}": v for n, v in last["exact_match"].items()
    }
    lengths = {row["length"] for row in record["rows"] if row["split"] == "test"}
    assert writer.rows["test/exact_match"] == {
        n: record_values.value(record, "test", n, 0, "exact_match") for n in lengths
    }
    assert writer.closed


def test_null_is_left_out(record):
    writer = RecordingWriter()
    assert record["curve"][0]["loss"] is None
    writers.write(writer, record)
    assert "loss" not in writer.points[0][1]


@pytest.mark.slow
def test_tensorboard_receives_scalars_with_the_length_as_their_step(monkeypatch, tmp_path, record):
    scalars, closed = [], []
    events = types.SimpleNamespace(
        add_scalar=lambda *a: scalars.append(a),
        add_text=lambda *a: None,
        close=lambda: closed.append(1),
    )
    monkeypatch.setitem(
        sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=lambda folder: events)
    )
    assert (
        writers.export(STUDY, "tensorboard", tmp_path)
        == len(records.read_all(STUDY))
        == len(closed)
    )
    assert {length for name, _, length in scalars if name == "test/exact_match by length"} == {
        row["length"] for row in record["rows"] if row["split"] == "test"
    }


def test_wandb_is_offline_unless_asked(monkeypatch, tmp_path, record):
    asked = []

    def init(**given):
        asked.append(given)
        return types.SimpleNamespace(log=lambda *a, **k: None, summary={}, finish=lambda: None)

    monkeypatch.setitem(sys.modules, "wandb", types.SimpleNamespace(init=init))
    writers.write(writers.WandB(tmp_path, "quickstart", "rope", record), record)
    writers.write(writers.WandB(tmp_path, "quickstart", "rope", record, online=True), record)
    assert [(a["mode"], a["project"], a["group"], a["id"]) for a in asked] == [
        (mode, "quickstart", "rope", record["run_id"]) for mode in ("offline", "online")
    ]


def test_trackio_receives_the_curve_and_each_length_in_a_folder_of_its_own(
    monkeypatch, tmp_path, record
):
    logged, given = [], []
    run = types.SimpleNamespace(
        log=lambda values, step: logged.append((step, values)), finish=lambda: logged.append(None)
    )

    def init(**arguments):
        given.append((os.environ["TRACKIO_DIR"], arguments))
        return run

    monkeypatch.setenv("TRACKIO_DIR", "before")
    monkeypatch.setitem(sys.modules, "trackio", types.SimpleNamespace(init=init))
    writers.write(writers.Trackio(tmp_path, "quickstart", "rope", record), record)
    ((folder, arguments),) = given
    assert (folder, arguments["project"], arguments["group"]) == (
        str(tmp_path),
        "quickstart",
        "rope",
    )
    steps = [point["step"] for point in record["curve"]]
    assert [step for step, _ in logged[: len(steps)]] == steps
    at_8 = record_values.value(record, "test", 8, 0, "exact_match")
    assert (8, {"test/exact_match by length": at_8}) in logged
    assert logged[-1] is None


def test_mlflow_receives_names_that_it_allows(monkeypatch, tmp_path, record):
    calls = []

    class Client:
        def __init__(self, tracking_uri):
            calls.append(("uri", tracking_uri))

        def get_experiment_by_name(self, name):
            return None

        def create_experiment(self, name):
            return "7"

        def create_run(self, experiment, run_name, tags):
            calls.append(("run", experiment, tags["pe_lab_run_id"]))
            return types.SimpleNamespace(info=types.SimpleNamespace(run_id="r"))

        def log_batch(self, run_id, metrics=(), params=()):
            calls.extend(("param", name) for name in params)
            calls.extend(("metric", key, step) for key, step in metrics)

        def set_terminated(self, run_id):
            calls.append(("end", run_id))

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    entities = types.SimpleNamespace(
        Metric=lambda key, value, timestamp, step: (key, step), Param=lambda key, value: key
    )
    library = types.SimpleNamespace(MlflowClient=Client, entities=entities)
    monkeypatch.setitem(sys.modules, "mlflow", library)
    writers.write(writers.MLflow(tmp_path, "quickstart", "rope", record), record)
    assert calls[:2] == [("uri", f"sqlite:///{tmp_path}/mlflow.db"), ("run", "7", record["run_id"])]
    assert ("param", "model") in calls
    assert ("metric", "test/exact_match by length", 8) in calls
    names = [call[1] for call in calls if call[0] == "metric"]
    assert "rms_embedding_ over rms_token_/0" in names
    assert all(re.fullmatch(r"[\w\-. /:]+", name) for name in names)
    assert calls[-1] == ("end", "r")


def test_parquet_has_the_tables_of_the_frame(tmp_path):
    assert cli.run(["export", str(STUDY), "--to=parquet", f"--out={tmp_path}"]) == 0
    study = frame.read(STUDY)
    for name, table in (("runs", study.runs), ("measurements", study.numbers)):
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / f"{name}.parquet"), table)
    assert len(pd.read_parquet(tmp_path / "curves.parquet")) == len(study.curves)


def test_an_unknown_writer_and_a_missing_library_are_one_sentence(monkeypatch, tmp_path):
    with pytest.raises(
        UserError, match=r"^--to has no 'tensorbord'\. Did you mean 'tensorboard'\?"
    ):
        writers.export(STUDY, "tensorbord", tmp_path)
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(
        UserError,
        match=r"^W&B needs wandb, which is not installed: pip install 'pe_lab\[writers\]'\.$",
    ):
        writers.export(STUDY, "wandb", tmp_path / "out")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(UserError, match=r"^Parquet needs pyarrow, which is not installed: pip "):
        cli.run(["export", str(STUDY), "--to=parquet", f"--out={tmp_path / 'out'}"])
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["results/x"],
            "Which format? Give --to, one of mlflow, parquet, safetensors, tensorboard, trackio, "
            "wandb.",
        ),
        (
            ["results/x", "--to=parket"],
            "pe-lab export: --to has no 'parket'. Did you mean 'parquet'?",
        ),
        (["results/nowhere", "--to=wandb"], "There is no study in results/nowhere"),
        (
            ["results/x", "--to=tensorboard", "--online"],
            "--online needs --to=wandb.",
        ),
    ],
)
def test_what_the_command_refuses(arguments, sentence):
    done = call("export", *arguments)
    assert (done.returncode, done.stderr.count(os.linesep)) == (2, 1)
    assert done.stderr.startswith(f"error: {sentence}")


@pytest.mark.peers
@pytest.mark.parametrize(
    ("to", "written"),
    [
        ("tensorboard", "*/events.out.tfevents.*"),
        ("wandb", "wandb/offline-run-*/*.wandb"),
    ],
)
def test_the_libraries_themselves_write_a_file_a_run(tmp_path, to, written):
    number = writers.export(STUDY, to, Path(tmp_path))
    assert len(list(tmp_path.glob(written))) == number == len(records.read_all(STUDY))


@pytest.mark.peers
@pytest.mark.parametrize(
    ("to", "count"),
    [
        ("mlflow", "SELECT count(*) FROM runs"),
        ("trackio", "SELECT count(DISTINCT run_name) FROM metrics"),
    ],
)
def test_the_libraries_themselves_write_a_database_of_all_runs(tmp_path, to, count):
    number = writers.export(STUDY, to, Path(tmp_path))
    (database,) = tmp_path.glob("*.db")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute(count).fetchone() == (number,)
    assert number == len(records.read_all(STUDY))
