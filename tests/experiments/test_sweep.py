"""One command leads to a comparison table, and another one publishes it."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from pe_lab.runs.records import records
from pe_lab.runs.studies import study_files
from tests import record_values
from tests.experiments.entry_points import ROOT, call, refused
from tests.experiments.swept_studies import TWO_RUNS
from tests.results.fake_study import point, record, write_study


def test_a_small_sweep_trains_its_runs_and_prints_its_table(tmp_path):
    (tmp_path / "small.py").write_text(TWO_RUNS)
    folder = tmp_path / "small"
    done = call("sweep", f"--config={tmp_path / 'small.py'}", f"--results={folder}")
    assert done.returncode == 0, done.stderr
    statuses = [record["status"] for record in records.read_all(folder).values()]
    assert statuses == ["finished"] * 2
    first, second, third = done.stdout.splitlines()[:3]
    assert first == "small: 2 points, 2 runs, 0 of them done"
    assert second == "to train: 2 runs in 1 run group"
    assert third.startswith("roughly ")
    assert "\nnote: no run can extrapolate: " in done.stdout.partition("records  ")[2]
    assert done.stdout.count("note: ") == 1  # --dry-run prints all
    table = next(block for block in done.stdout.split("\n\n") if block.startswith("| variant"))
    assert table in (folder / "table.md").read_text()
    assert "2 of 2 runs" in done.stdout
    # A deleted record is written again from the checkpoint, as docs/running.md says.
    path = next((folder / "records").iterdir())
    before = records.read(path)
    path.unlink()
    done = call("sweep", f"--config={tmp_path / 'small.py'}", f"--results={folder}")
    assert done.returncode == 0, done.stderr
    after = records.read(path)
    for key in ("rows", "curve", "checkpoint"):
        assert after[key] == before[key]
    # Nothing was trained.
    assert after["cost"]["train_seconds"] == before["cost"]["train_seconds"]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    folder = tmp_path_factory.mktemp("results") / "smoke"
    command = [
        sys.executable,
        "-m",
        "experiments.sweep",  # the entry point in a checkout
        "--config=configs/smoke.py",
        f"--results={folder}",
    ]
    env = {**os.environ, "COLUMNS": "100"}
    env.pop("JAX_NUMPY_RANK_PROMOTION", None)
    return folder, subprocess.run(
        command, cwd=ROOT, env=env, capture_output=True, text=True, check=False
    )


def encoding_of(record):
    (encoding,) = record["config"]["model"]["encodings"]
    return encoding["name"]


@pytest.mark.slow
def test_a_sweep_trains_every_run_and_prints_its_table(smoke):
    folder, done = smoke
    assert done.returncode == 0, done.stderr
    found = records.read_all(folder).values()
    assert [r["status"] for r in found] == ["finished"] * 4
    assert {encoding_of(r) for r in found} == {"rope", "alibi"}
    table = next(block for block in done.stdout.split("\n\n") if block.startswith("| variant"))
    assert [line.split("|")[1].strip() for line in table.splitlines()][2:] == [
        "rope",
        "alibi",
        "chance level (sees no prompt)",
    ]
    assert table in (folder / "table.md").read_text()
    assert "4 of 4 runs" in done.stdout
    for name in ("table.md", "table.csv", "exact_match.png"):
        assert str(folder / name) in done.stdout
        assert (folder / name).stat().st_size > 0


@pytest.mark.slow
def test_it_learns(smoke):
    """RoPE copies four symbols of eight within 300 steps from both seeds."""
    folder, _ = smoke
    rope = [r for r in records.read_all(folder).values() if encoding_of(r) == "rope"]
    exact = [record_values.value(r, "validation", 4, 0, "exact_match") for r in rope]
    assert min(exact) > 0.9


@pytest.mark.slow
def test_run_again_it_finds_nothing_to_do_and_touches_no_record(smoke):
    folder, _ = smoke
    before = {p: p.read_bytes() for p in (folder / "records").iterdir()}
    done = call("sweep", "--config=configs/smoke.py", f"--results={folder}")
    assert done.returncode == 0
    assert f"smoke: nothing to do, all 4 runs are in {folder}." in done.stdout
    assert {p: p.read_bytes() for p in (folder / "records").iterdir()} == before


@pytest.mark.slow
def test_tables_are_written_again_from_records_alone(smoke):
    folder, _ = smoke
    written = (folder / "table.md").read_bytes()
    (folder / "table.md").unlink()
    assert call("tables", folder).returncode == 0
    assert (folder / "table.md").read_bytes() == written


PICTURES = ("exact_match", "extrapolation", "training")


@pytest.mark.slow
def test_publishing_copies_records_tables_and_plots(smoke, tmp_path):
    folder, _ = smoke
    assert call("publish", folder, "--allow_dirty", cwd=tmp_path).returncode == 0
    published = tmp_path / "results" / "published" / "smoke"
    assert len(records.read_all(published)) == 4
    pictures = [f"{name}.png" for name in PICTURES]
    assert {p.name for p in published.iterdir()} == {
        *pictures,
        "records.jsonl.gz",
        "study.json",
        "table.csv",
        "table.md",
        "table.tex",
    }
    assert (published / "table.md").read_bytes() == (folder / "table.md").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(
    "provenance",
    [
        {"dirty": True},
        {"dirty": None},
        {"dirty": False, "resumed": [{"dirty": True}]},
        {"dirty": False, "evaluated": [{"dirty": True}]},
    ],
    ids=str,
)
def test_a_run_of_code_that_was_not_committed_or_is_unknown_is_not_published(tmp_path, provenance):
    run = record("r0", test={4: 1.0}, validation={4: 1.0}) | {"provenance": provenance}
    folder = write_study(tmp_path / "fake", (point("rope", 0), run))
    assert refused("publish", folder, cwd=tmp_path) == (
        f"1 run in {folder}, such as r0, used code that was not committed, or whose commit is "
        "unknown: sweep again from a clean checkout, or give --allow-dirty."
    )
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_a_study_does_not_replace_published_runs_that_it_lacks(tmp_path):
    runs = [record(f"r{i}", test={4: 1.0}, validation={4: 1.0}) for i in range(2)]
    both = write_study(tmp_path / "both", *[(point("rope", i), runs[i]) for i in range(2)])
    one = write_study(tmp_path / "one", (point("rope", 0), runs[0]))
    assert call("publish", both, cwd=tmp_path).returncode == 0
    assert refused("publish", one, cwd=tmp_path).endswith(
        " has 1 run that this study lacks: give --replace to replace the published study."
    )
    assert call("publish", one, "--replace", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_study_json_is_published_last_and_with_its_digest(tmp_path):
    """It names the records, so it must never be newer than they are."""
    folder = write_study(
        tmp_path / "fake", (point("rope", 0), record("r0", test={4: 1.0}, validation={4: 1.0}))
    )
    assert call("publish", folder, cwd=tmp_path).returncode == 0
    published = tmp_path / "results" / "published" / "fake"
    newest = max(published.iterdir(), key=lambda path: path.stat().st_mtime_ns)
    assert newest.name == "study.json"
    assert len(json.loads(newest.read_text())["digest"]) == 64
    assert study_files.read(published) == study_files.read(folder)


@pytest.mark.slow
def test_with_allow_dirty_a_run_of_code_that_was_not_committed_is_published(tmp_path):
    run = record("r0", test={4: 1.0}, validation={4: 1.0}) | {"provenance": {"dirty": True}}
    folder = write_study(tmp_path / "fake", (point("rope", 0), run))
    assert call("publish", folder, "--allow_dirty", cwd=tmp_path).returncode == 0


@pytest.mark.slow
def test_train_trains_the_one_run_of_a_config(tmp_path):
    small = [
        "--config.train.steps=2",
        "--config.evaluate.num_examples=128",
        "--config.evaluate.lengths=(4,)",
    ]
    done = call(
        "train", "--config=configs/smoke.py", f"--results={tmp_path}", "--config.seed=5", *small
    )
    assert done.returncode == 0, done.stderr
    (record,) = records.read_all(tmp_path).values()
    assert record["member"]["seed"] == record["member"]["data_seed"] == 5
    assert record["config"]["train"]["steps"] == 2
    assert json.loads((tmp_path / "study.json").read_text())["name"] == "train_smoke"


@pytest.mark.slow
def test_a_study_with_a_missing_record_says_so_and_is_not_published(smoke, tmp_path):
    folder, _ = smoke
    partial = tmp_path / "partial"
    shutil.copytree(folder, partial)
    next((partial / "records").iterdir()).unlink()
    assert "without a record: 1 runs of the study" in call("tables", partial).stdout
    assert refused("publish", partial, "--allow_dirty", cwd=tmp_path) == (
        f"{partial} lacks the records of 1 runs: sweep again, so that none is left out."
    )
