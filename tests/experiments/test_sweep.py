"""From one command to a comparison table, as a user runs it."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab.runs import records, study_files
from tests import record_values
from tests.experiments.entry_points import call
from tests.results.fake_study import point, record, write_study

ROOT = Path(__file__).parents[2]


TWO_RUNS = """
from pe_lab.studies import base
from pe_lab.runs import grid
def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.model.update(encodings=(dict(name="rope"),), width=16, num_layers=1, num_heads=2)
    c.train.update(steps=4, batch_size=8, max_length=3, warmup_steps=1)
    c.evaluate.update(lengths=(3,), num_examples=8, batch_size=8)
    c.evaluate.update(curve_lengths=(3,), curve_examples=8)
    return c
def sweep():
    return grid.product({"seed": range(2)})
"""


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
    assert third.startswith("note: no run can extrapolate: ")  # doubts follow the plan
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


@pytest.mark.full
def test_a_sweep_trains_every_run_and_prints_its_table(smoke):
    folder, done = smoke
    assert done.returncode == 0, done.stderr
    found = records.read_all(folder)
    assert [r["status"] for r in found.values()] == ["finished"] * 4
    assert {r["config"]["model"]["encodings"][0]["name"] for r in found.values()} == {
        "rope",
        "alibi",
    }
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


@pytest.mark.full
def test_it_learns(smoke):
    """RoPE copies four symbols of eight within 300 steps from both seeds."""
    folder, _ = smoke
    exact = [record_values.value(r, "validation", 4, 0, "exact_match") for r in rope(folder)]
    assert min(exact) > 0.9


def rope(folder):
    return [
        r
        for r in records.read_all(folder).values()
        if r["config"]["model"]["encodings"][0]["name"] == "rope"
    ]


@pytest.mark.full
def test_run_again_it_finds_nothing_to_do_and_touches_no_record(smoke):
    folder, _ = smoke
    before = {p: p.read_bytes() for p in (folder / "records").iterdir()}
    done = call("sweep", "--config=configs/smoke.py", f"--results={folder}")
    assert done.returncode == 0
    assert f"smoke: nothing to do, all 4 runs are in {folder}." in done.stdout
    assert {p: p.read_bytes() for p in (folder / "records").iterdir()} == before


@pytest.mark.full
def test_tables_are_written_again_from_records_alone(smoke):
    folder, _ = smoke
    written = (folder / "table.md").read_bytes()
    (folder / "table.md").unlink()
    assert call("tables", folder).returncode == 0
    assert (folder / "table.md").read_bytes() == written


PICTURES = ("exact_match", "extrapolation", "training")


@pytest.mark.full
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
def test_a_run_of_code_that_was_not_committed_is_not_published(tmp_path):
    run = record("r0", test={4: 1.0}, validation={4: 1.0}) | {"provenance": {"dirty": True}}
    folder = write_study(tmp_path / "fake", (point("rope", 0), run))
    refused = call("publish", folder, cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"error: 1 run in {folder}, such as r0, used code that was not committed: sweep again from "
        "a clean checkout, or give --allow_dirty.\n"
    )
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_a_study_does_not_replace_published_runs_that_it_lacks(tmp_path):
    runs = [record(f"r{i}", test={4: 1.0}, validation={4: 1.0}) for i in range(2)]
    both = write_study(tmp_path / "both", *[(point("rope", i), runs[i]) for i in range(2)])
    one = write_study(tmp_path / "one", (point("rope", 0), runs[0]))
    assert call("publish", both, cwd=tmp_path).returncode == 0
    refused = call("publish", one, cwd=tmp_path)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr.endswith(
        " has 1 run that this study lacks: give --replace to replace the published study.\n"
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
    assert study_files.study_of(published) == study_files.study_of(folder)


@pytest.mark.full
def test_with_allow_dirty_a_run_of_code_that_was_not_committed_is_published(tmp_path):
    run = record("r0", test={4: 1.0}, validation={4: 1.0}) | {"provenance": {"dirty": True}}
    folder = write_study(tmp_path / "fake", (point("rope", 0), run))
    assert call("publish", folder, "--allow_dirty", cwd=tmp_path).returncode == 0


@pytest.mark.full
def test_groups_are_commands_for_any_scheduler(tmp_path):
    """Each is run here by hand, as a scheduler would; tables are then those of a sweep."""
    folder = tmp_path / "study"
    done = call(
        "sweep",
        "--config=configs/smoke.py",
        "--config.train.steps=4",
        f"--results={folder}",
        "--write_groups",
    )
    assert done.returncode == 0
    assert all(line.startswith("note: ") for line in done.stderr.splitlines())
    commands = [line.split() for line in done.stdout.splitlines()]
    assert [c[1:3] for c in commands] == [["-m", "pe_lab.training.process"]] * 2
    for command in commands:
        assert (
            subprocess.run(
                command,
                cwd=ROOT,
                env=os.environ,
                stdout=subprocess.DEVNULL,
                check=False,
            ).returncode
            == 0
        )
    assert [r["status"] for r in records.read_all(folder).values()] == ["finished"] * 4
    assert (
        "nothing to do, all 4 runs"
        in call(
            "sweep", "--config=configs/smoke.py", "--config.train.steps=4", f"--results={folder}"
        ).stdout
    )


@pytest.mark.slow
def test_the_groups_of_a_tuned_study_are_quoted_commands_and_notes_go_to_stderr(tmp_path):
    config = tmp_path / "tuned.py"
    config.write_text(
        TWO_RUNS + 'tune = {"axes": {"train.learning_rate": (1e-3, 3e-3)}, "seeds": 1}\n'
    )
    folder = tmp_path / "a study"
    done = call("sweep", f"--config={config}", f"--results={folder}", "--write_groups")
    assert done.returncode == 0
    (command,) = done.stdout.splitlines()
    (file,) = folder.glob("groups/*.json")
    module = "pe_lab.training.process"
    interpreter, *arguments = shlex.split(command)
    assert arguments == ["-m", module, str(file), str(folder)]
    assert (ROOT / interpreter).samefile(sys.executable)
    assert done.stderr.splitlines()[-1] == (
        "tuning: give the same command again after these run groups, for the next stage"
    )


@pytest.mark.slow
def test_a_tuned_study_with_contrasts_may_extend_its_values(tmp_path):
    config = tmp_path / "tuned.py"
    two_variants = """grid.product(
        {"model.encodings": [(dict(name="rope"),), (dict(name="nope"),)], "seed": range(2)}
    )"""
    config.write_text(
        TWO_RUNS.replace('grid.product({"seed": range(2)})', two_variants)
        + "def analysis():\n"
        + '    return dict(contrasts=(("rope", "nope"),))\n'
        + 'tune = dict(axes={"train.learning_rate": (1e-3, 3e-3)}, seeds=1, extend=True)\n'
    )
    done = call("sweep", f"--config={config}", f"--results={tmp_path / 'new'}", "--dry_run")
    assert done.returncode == 0, done.stderr
    assert "to train: 4 runs" in done.stdout


@pytest.mark.slow
def test_a_dry_run_says_what_it_would_do_and_does_nothing(tmp_path):
    done = call(
        "sweep",
        "--config=configs/smoke.py",
        f"--results={tmp_path / 'dry'}",
        "--dry_run",
        "--workers=2",
    )
    assert done.returncode == 0
    assert "smoke: 4 points, 4 runs, 0 of them done" in done.stdout
    assert "to train: 4 runs in 2 run groups" in done.stdout
    # The first state, training and evaluation of each run group.
    assert "6 programs to compile; roughly" in done.stdout
    assert not (tmp_path / "dry").exists()


SHIFTED_OR_NOT = """
from pe_lab.studies import base
from pe_lab.runs import grid
def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.model.update(width=16, num_layers=1, num_heads=2)
    c.train.update(steps=4, batch_size=8, max_length=3, warmup_steps=1)
    c.evaluate.update(lengths=(3, 6), num_examples=8, batch_size=8)
    c.evaluate.update(curve_lengths=(3,), curve_examples=8)
    return c
def sweep():
    encodings = [(dict(name=name),) for name in NAMES]
    schemes = [dict(name="contiguous"), grid.labelled("shifted", dict(name="shifted", max_shift=9))]
    return grid.product({"model.encodings": encodings, "positions": schemes, "seed": range(1)})
def analysis():
    return dict(contrasts=(("contiguous", "shifted"),))
"""


@pytest.mark.slow
def test_notes_on_a_design_do_not_change_with_the_runs_that_are_finished(tmp_path):
    config, folder = tmp_path / "design.py", tmp_path / "design"

    def notes(*flags):
        done = call("sweep", f"--config={config}", f"--results={folder}", *flags)
        assert done.returncode == 0, done.stderr
        return [line for line in done.stdout.splitlines() if line.startswith("note: ")]

    config.write_text(SHIFTED_OR_NOT.replace("NAMES", "['rope', 'raw_index']"))
    before = notes("--dry_run")
    assert any("rope · shifted repeats rope · contiguous" in text for text in before)
    assert any("raw_index · shifted will not be compared" in text for text in before)
    assert any("(contrasts, adjusted by Holm's method: 2)" in text for text in before)
    config.write_text(SHIFTED_OR_NOT.replace("NAMES", "['rope']"))
    notes()
    config.write_text(SHIFTED_OR_NOT.replace("NAMES", "['rope', 'raw_index']"))
    assert notes("--dry_run") == before
    assert notes() == before
    assert notes("--dry_run") == before


@pytest.mark.slow
def test_a_point_that_is_there_twice_is_reported(tmp_path):
    config = tmp_path / "twice.py"
    config.write_text(
        STUDY.partition("def sweep")[0]
        + 'def sweep():\n    return grid.product({"seed": [0, 0]})\n'
    )
    done = call("sweep", f"--config={config}", f"--results={tmp_path / 'out'}", "--dry_run")
    assert (done.returncode, done.stderr) == (0, "")
    notes = [line for line in done.stdout.splitlines() if line.startswith("note: ")]
    assert notes[0] == "note: the sweep has a point twice: seed=0"
    lines = done.stdout.splitlines()
    assert lines[:2] == [
        "twice: 2 points, 1 run, 0 of them done",
        "to train: 1 run in 1 run group",
    ]
    assert lines[2].endswith(": 1 member")


@pytest.mark.slow
@pytest.mark.parametrize("dry", [["--dry_run"], []])
def test_another_study_in_the_same_folder_is_refused(tmp_path, dry):
    folder = write_study(tmp_path / "mine", (point("rope", 0), record("r0")), name="mine")
    before = (folder / "study.json").read_text()
    refused = call("sweep", "--config=configs/smoke.py", f"--results={folder}", *dry)
    assert (refused.returncode, refused.stdout) == (2, "")
    assert refused.stderr == (
        f"error: {folder} holds the study 'mine': give another folder for 'smoke', "
        "--results=FOLDER.\n"
    )
    assert (folder / "study.json").read_text() == before


FAILS = '''
import jax.numpy as jnp
from pe_lab.encodings.base import AttentionEncoding
class Fails(AttentionEncoding):
    """Builds, and fails when it is first called."""
    def bias(self, Q, K):
        raise RuntimeError("no bias today")
'''
STUDY = """
from pe_lab.studies import base
from pe_lab.runs import grid
def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.model.update(width=16, num_heads=2, feedforward_width=16)
    c.train.update(steps=4, batch_size=8, max_length=3, warmup_steps=1)
    c.evaluate.update(lengths=(3,), num_examples=8, batch_size=8)
    c.evaluate.update(curve_lengths=(3,), curve_examples=8)
    return c
def sweep():
    return grid.product({"model.encodings": [(dict(name="failing:Fails"),), (dict(name="nope"),)]})
"""


@pytest.mark.full
def test_a_failing_run_is_recorded_and_the_others_finish(tmp_path):
    (tmp_path / "failing.py").write_text(FAILS)
    (tmp_path / "study.py").write_text(STUDY)
    arguments = [f"--config={tmp_path / 'study.py'}", f"--results={tmp_path / 'out'}"]
    done = call("sweep", *arguments, path=[tmp_path])
    assert done.returncode == 1, done.stderr
    by_status = {r["status"]: r for r in records.read_all(tmp_path / "out").values()}
    assert sorted(by_status) == ["failed", "finished"]
    assert by_status["failed"]["error"] == "RuntimeError: no bias today"
    (log,) = (path for path in (tmp_path / "out" / "logs").iterdir() if path.read_text())
    assert "no bias today" in log.read_text()
    failed = f"failed: {by_status['failed']['run_id']}: RuntimeError: no bias today; see {log}"
    assert done.stderr.splitlines() == [failed]
    assert "0/1 not solved, 1 failed" in (tmp_path / "out" / "table.md").read_text()


@pytest.mark.full
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


@pytest.mark.full
def test_results_of_code_that_has_changed_since_are_named(tmp_path):
    """The settings are the same, so the runs are done; that their file is another one is said."""
    (tmp_path / "failing.py").write_text(
        FAILS.replace('raise RuntimeError("no bias today")', "return None")
    )
    (tmp_path / "study.py").write_text(STUDY)
    arguments = [f"--config={tmp_path / 'study.py'}", f"--results={tmp_path / 'out'}"]

    def said():
        return call("sweep", *arguments, path=[tmp_path])

    assert "changed since" not in said().stdout
    with (tmp_path / "failing.py").open("a") as file:
        file.write("# another file now\n")
    note = "note: 1 run was trained with other code: encodings/failing:Fails changed since"
    assert f"{note}; to train again, give another --results\n" in said().stdout


@pytest.mark.full
def test_a_study_with_a_missing_record_says_so_and_is_not_published(smoke, tmp_path):
    folder, _ = smoke
    partial = tmp_path / "partial"
    shutil.copytree(folder, partial)
    next((partial / "records").iterdir()).unlink()
    assert "without a record: 1 runs of the study" in call("tables", partial).stdout
    refused = call("publish", partial, "--allow_dirty", cwd=tmp_path)
    assert refused.returncode == 2
    assert (
        refused.stderr
        == f"error: {partial} lacks the records of 1 runs: sweep again, so that none is left out.\n"
    )
