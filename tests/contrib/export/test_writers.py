"""Export of records and curves, to fakes of the libraries and to the libraries themselves."""

import contextlib
import os
import re
import sqlite3
import sys
from unittest import mock

import pandas as pd
import pytest

from pe_lab import cli
from pe_lab.contrib.export import writers
from pe_lab.results import frame
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from tests import record_values
from tests.experiments.entry_points import ROOT, call

STUDY = ROOT / "results" / "published" / "quickstart"


@pytest.fixture(scope="module")
def record():
    return next(iter(records.read_all(STUDY).values()))


@pytest.fixture
def library(monkeypatch):
    """A function that puts a fake in the place of a library."""

    def replace(name):
        fake = mock.MagicMock()
        monkeypatch.setitem(sys.modules, name, fake)
        return fake

    return replace


def write(name, out, record, **options):
    writer = writers.WRITERS[name](out, "quickstart", "rope", record, **options)
    writers.write(writer, record)


def exact_match(record):
    """Exact match of the test by length."""
    lengths = {row["length"] for row in record["rows"] if row["split"] == "test"}
    return {n: record_values.value(record, "test", n, 0, "exact_match") for n in lengths}


def test_trackio_receives_every_point_of_the_curve_and_every_length_of_the_test(
    monkeypatch, tmp_path, record, library
):
    monkeypatch.setenv("TRACKIO_DIR", "before")
    trackio = library("trackio")
    write("trackio", tmp_path, record)
    assert os.environ["TRACKIO_DIR"] == str(tmp_path)
    arguments = trackio.init.call_args.kwargs
    assert (arguments["project"], arguments["group"]) == ("quickstart", "rope")
    run = trackio.init.return_value
    logged = [(each.kwargs["step"], each.args[0]) for each in run.log.call_args_list]
    curve = record["curve"]
    points, by_length = logged[: len(curve)], logged[len(curve) :]
    assert [step for step, _ in points] == [point["step"] for point in curve]
    last = points[-1][1]
    assert last["loss"] == curve[-1]["loss"]
    assert {name: value for name, value in last.items() if name.startswith("exact")} == {
        f"exact_match/length {n}": value for n, value in curve[-1]["exact_match"].items()
    }
    name = "test/exact_match by length"
    assert {n: values[name] for n, values in by_length if name in values} == exact_match(record)
    assert curve[0]["loss"] is None
    assert "loss" not in points[0][1]  # null is left out
    run.finish.assert_called_once_with()


@pytest.mark.slow
def test_tensorboard_receives_scalars_with_the_length_as_their_step(tmp_path, record, library):
    events = library("tensorboardX").SummaryWriter.return_value
    number = writers.export(STUDY, "tensorboard", tmp_path)
    assert number == len(records.read_all(STUDY)) == events.close.call_count
    scalars = [each.args for each in events.add_scalar.call_args_list]
    lengths = {length for name, _, length in scalars if name == "test/exact_match by length"}
    assert lengths == exact_match(record).keys()


@pytest.mark.parametrize(("options", "mode"), [({}, "offline"), ({"online": True}, "online")])
def test_wandb_is_offline_unless_asked(tmp_path, record, library, options, mode):
    wandb = library("wandb")
    write("wandb", tmp_path, record, **options)
    arguments = wandb.init.call_args.kwargs
    expected = {"mode": mode, "project": "quickstart", "group": "rope", "id": record["run_id"]}
    assert arguments | expected == arguments
    updates = [each.args[0] for each in wandb.init.return_value.summary.update.call_args_list]
    by_length = {f"test/exact_match/length {n}": v for n, v in exact_match(record).items()}
    assert by_length.items() <= {k: v for values in updates for k, v in values.items()}.items()


def test_mlflow_receives_names_that_it_allows(monkeypatch, tmp_path, record, library):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    mlflow = library("mlflow")
    mlflow.entities.Metric = lambda key, value, timestamp, step: (key, step)
    mlflow.entities.Param = lambda key, value: key
    client = mlflow.MlflowClient.return_value
    client.get_experiment_by_name.return_value = None
    write("mlflow", tmp_path, record)
    mlflow.MlflowClient.assert_called_once_with(tracking_uri=f"sqlite:///{tmp_path}/mlflow.db")
    (experiment,) = client.create_run.call_args.args
    assert experiment == client.create_experiment.return_value
    assert client.create_run.call_args.kwargs["tags"]["pe_lab_run_id"] == record["run_id"]
    batches = [each.kwargs for each in client.log_batch.call_args_list]
    metrics = [metric for batch in batches for metric in batch.get("metrics", ())]
    assert "model" in batches[0]["params"]
    assert ("test/exact_match by length", 8) in metrics
    names = {name for name, _ in metrics}
    assert "rms_embedding_ over rms_token_/0" in names
    assert all(re.fullmatch(r"[\w\-. /:]+", name) for name in names)
    run_id = client.create_run.return_value.info.run_id
    assert client.method_calls[-1] == mock.call.set_terminated(run_id)


def test_the_loss_of_a_text_is_written_by_length():
    logged = []
    writer = writers.Writer(lambda step, numbers: logged.append((step, numbers)), lambda: None)
    point = {"step": 5, "loss": 1.0, "exact_match": {}, "scale_ratio": []}
    writers.write(writer, {"curve": [{**point, "validation_loss": {"16": 2.0}}], "rows": []})
    assert logged == [(5, {"loss": 1.0, "validation_loss/length 16": 2.0})]


def test_parquet_has_the_tables_of_the_frame(tmp_path):
    assert cli.run(["export", str(STUDY), "--to=parquet", f"--out={tmp_path}"]) == 0
    study = frame.read(STUDY)
    for name, table in (("runs", study.runs), ("measurements", study.numbers)):
        pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / f"{name}.parquet"), table)
    assert len(pd.read_parquet(tmp_path / "curves.parquet")) == len(study.curves)


@pytest.mark.parametrize(
    ("to", "library", "sentence"),
    [
        ("wandb", "wandb", r"^W&B needs wandb, which .*: pip install 'pe_lab\[writers\]'\.$"),
        ("parquet", "pyarrow", "^Parquet needs pyarrow, which is not installed: pip "),
    ],
)
def test_a_missing_library_is_one_sentence(monkeypatch, tmp_path, to, library, sentence):
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(UserError, match=sentence):
        cli.run(["export", str(STUDY), f"--to={to}", f"--out={tmp_path / 'out'}"])
    assert not (tmp_path / "out").exists()


def test_an_unknown_writer_is_refused(tmp_path):
    with pytest.raises(UserError, match=r"^--to has no 'tensorbord'\. Did you mean 'tensorboard'"):
        writers.export(STUDY, "tensorbord", tmp_path)


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
        (["results/x", "--to=tensorboard", "--online"], "--online needs --to=wandb."),
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
    number = writers.export(STUDY, to, tmp_path)
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
    number = writers.export(STUDY, to, tmp_path)
    (database,) = tmp_path.glob("*.db")
    with contextlib.closing(sqlite3.connect(database)) as connection:
        assert connection.execute(count).fetchone() == (number,)
    assert number == len(records.read_all(STUDY))
