"""The standard suite from its command: an encoding of a user's package inside the table."""

import os
import shutil
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from docs.build import costs, suite_rows
from experiments import publish
from pe_lab import cli
from pe_lab.contrib.grids import forms, train_rows
from pe_lab.contrib.grids.suite_tables import read_scores
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.settings.labels import parse_several
from pe_lab.studies import suite_grid
from pe_lab.sweeps import study
from tests.experiments.entry_points import call, refused

ROOT = Path(__file__).parents[3]
MINE = """
from pe_lab.encodings.alibi import ALiBi

class Mine(ALiBi):
    pass
"""


def runs(*encodings, form=forms.SMOKE, names=None):
    points = forms.points([encodings], form, names)
    return study.expand(form.name, forms.get_config(form).to_dict(), points, Path()).runs


@pytest.mark.full
def test_a_users_encoding_is_trained_once_and_an_interrupted_command_goes_on(tmp_path):
    (tmp_path / "my_suite_package.py").write_text(MINE)
    encodings = "mine=my_suite_package:Mine"
    arguments = [encodings, "--smoke", f"--results={tmp_path / 'rows'}"]
    env = {**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    env.pop("JAX_NUMPY_RANK_PROMOTION", None)
    folder = tmp_path / "rows" / "mine"
    command = [sys.executable, "-m", "pe_lab", "suite", *arguments]
    process = subprocess.Popen(command, cwd=ROOT, env=env, stdout=subprocess.DEVNULL)
    while process.poll() is None and not list(folder.glob("records/*.json")):
        time.sleep(0.05)
    process.terminate()
    process.wait()
    before = {path: path.read_bytes() for path in folder.glob("records/*.json")}
    assert 0 < len(before) < 18  # two tasks, three rates, three seeds
    done = call("suite", *arguments, path=[tmp_path])
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in before} == before
    trained = records.read_all(folder).values()
    assert [record["status"] for record in trained] == ["finished"] * 18
    text = (tmp_path / "rows" / "all_rows.md").read_text()
    assert "\n| mine " in text
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| copy ")]
    assert row in text
    assert r"\label{tab:suite-" in (tmp_path / "rows" / "all_rows.tex").read_text()


@pytest.fixture
def short_suite(monkeypatch):
    """The complete form with tiny models and two tasks."""
    form = replace(forms.FULL, tasks=forms.SMOKE.tasks)
    monkeypatch.setattr(forms, "FULL", form)
    monkeypatch.setattr(forms, "get_config", lambda form: suite_grid.get_config("smoke"))
    timed = suite_grid.get_config("smoke")
    timed.task = dict(name="copy", num_symbols=8)
    timed.train.update(max_length=4)
    timed.evaluate.update(lengths=(4,), curve_lengths=(4,))
    monkeypatch.setattr(forms, "cost_config", lambda: timed)


@pytest.mark.slow
def test_a_row_goes_from_its_training_through_an_archive_into_the_table(
    tmp_path, monkeypatch, capsys, short_suite
):
    trained, checkout = tmp_path / "user", tmp_path / "checkout"
    published = checkout / "results" / "published"
    published.mkdir(parents=True)
    trained.mkdir()
    for folder in (*suite_rows.FOLDERS.values(), costs.FOLDER):
        (checkout / folder).symlink_to(ROOT / folder)
    shipped = checkout / suite_rows.SCORES
    shipped.parent.mkdir(parents=True)
    shutil.copy(ROOT / suite_rows.SCORES, shipped)
    (trained / "my_row_package.py").write_text(MINE)
    monkeypatch.setenv("PYTHONPATH", f"{trained}{os.pathsep}{ROOT}")
    monkeypatch.syspath_prepend(trained)
    monkeypatch.chdir(trained)
    command = ["suite", "mine=my_row_package:Mine"]
    assert cli.run([*command, "--bundle=mine.zip"]) == 0
    assert "bundle   mine.zip\n" in capsys.readouterr().out
    of_row = records.read_all(trained / "results" / "suite" / "mine")
    assert len(of_row) == 18  # two tasks, three rates, three seeds

    monkeypatch.chdir(checkout)
    # The code of this checkout need not be committed.
    options = publish.Options(study=trained / "mine.zip", allow_dirty=True)
    assert publish.run(options) == 0
    row = published / "suite_rows" / "mine"
    files = ["cost.json", "records.jsonl.gz", "sources/my_row_package.Mine.py", "study.json"]
    assert sorted(str(f.relative_to(row)) for f in row.rglob("*.*")) == files
    assert (row / files[2]).read_text() == MINE
    assert {run["status"] for run in records.read_all(row).values()} == {"finished"}

    suite_rows.write(checkout)
    monkeypatch.setattr(forms, "SCORES", shipped)
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)  # the row comes with pe_lab
    assert cli.run(["suite"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line[:6] == "| mine"][:1]
    copy, flip_flop, step_time = [cell.strip() for cell in line.split("|")][2:-1]
    assert (copy, flip_flop) == ("0/0", "0/0")
    assert float(step_time) > 0
    assert cli.run(command) == 0
    assert "mine: its row is published, so nothing is trained." in capsys.readouterr().out


@pytest.mark.slow
def test_an_unknown_encoding_is_refused_with_the_near_name():
    assert "'rope'" in refused("suite", "rpoe", "--dry_run")


@pytest.mark.slow
def test_a_mistake_in_the_last_encoding_is_reported_before_anything_is_trained(tmp_path):
    refused("suite", "alibi", "rpoe", "--smoke", f"--results={tmp_path / 'rows'}")
    assert not (tmp_path / "rows").exists()


@pytest.mark.parametrize(
    ("rows", "bundle", "sentence"),
    [
        (["a", "a/b c"], Path("x.zip"), "'a/b c' is not the name of a row: give it a label, as "),
        (["a" * 201], Path("x.zip"), "… is too long for the name of a row: give it a label, as "),
        (["a", "a" * 201], None, "… is too long for the name of a row, from "),
        (["a", ".."], None, "'..' is not the name of a row, from '..'."),
        (["a b", "a_b"], None, "The rows 'a b' and 'a_b' have one folder, rows/a_b: give one of "),
    ],
)
def test_labels_are_checked_before_a_training(tmp_path, monkeypatch, rows, bundle, sentence):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(train_rows, "_train", None)
    encodings = {label: (dict(name="rope", base=100.0 + len(label)),) for label in rows}
    mode = train_rows.Mode()
    with pytest.raises(UserError) as error:
        train_rows.run(forms.SMOKE, encodings, Path("rows"), mode, bundle)
    assert sentence in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_published_row_is_refused_for_other_encodings(tmp_path):
    rows = {"rope": (dict(name="rope", base=5e5),)}
    with pytest.raises(UserError, match=r"have one named rope, with other encodings: give yours"):
        train_rows.run(forms.QUICK, rows, tmp_path, train_rows.Mode(dry_run=True))


@pytest.mark.slow
def test_a_dry_run_without_encodings_is_refused():
    sentence = "--dry-run and --write-groups plan the runs of encodings: name some."
    assert refused("suite", "--dry_run") == sentence


@pytest.mark.slow
def test_a_table_without_rows_is_refused(tmp_path):
    sentence = "There is no row yet: name one, as in mine=my_package.mine:Mine."
    assert refused("suite", "--smoke", f"--results={tmp_path}") == sentence


@pytest.mark.slow
def test_a_dry_run_leaves_no_folder(tmp_path):
    folder = tmp_path / "rows"
    done = call("suite", "--smoke", "nope", "--dry_run", f"--results={folder}")
    assert (done.returncode, done.stderr) == (0, "")
    assert not folder.exists()


@pytest.mark.slow
def test_the_command_itself_takes_no_accelerator(tmp_path):
    """JAX refuses this platform when it starts a backend, unless the command asks for the CPU."""
    arguments = ["nope", "--smoke", "--dry_run", f"--results={tmp_path}"]
    env = {**os.environ, "JAX_PLATFORMS": "no_such_platform"}
    env.pop("JAX_NUMPY_RANK_PROMOTION", None)
    command = [sys.executable, "-m", "pe_lab", "suite", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "to train: 18 runs in" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["rope", "fox"])
def test_the_runs_of_a_row_are_those_of_suite_grid(encoding):
    points, config = suite_grid.sweep(), suite_grid.get_config().to_dict()
    of_grid = {run.run_id for run in study.expand("suite_grid", config, points, Path()).runs}
    whole = {run.run_id for run in runs(dict(name=encoding), form=forms.FULL)}
    assert len(whole) == 6 * 3 * 3  # tasks, learning rates, seeds
    assert whole <= of_grid
    quick = {run.run_id for run in runs(dict(name=encoding), form=forms.QUICK)}
    assert len(quick) == 3 * 3
    assert quick <= whole & set(read_scores(forms.SCORES)["run_id"])


@pytest.mark.slow
def test_a_quick_row_that_is_published_is_not_trained_and_is_in_the_table(tmp_path):
    done = call("suite", "rope", "--quick", f"--results={tmp_path}")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("rope: its row is published, so nothing is trained.\n")
    assert "\n| rope " in done.stdout
    assert "\n| rope · randomized † ‡ " in done.stdout


@pytest.mark.slow
def test_a_table_that_ends_before_the_training_length_has_a_reason():
    (learned,) = parse_several("learned(max_positions=8)")
    reason = train_rows.untrainable(runs(learned)[0])
    assert reason == "learned has positions 0..7; length 4 asks for position 9"
    (learned,) = parse_several("learned(max_positions=10)")  # the tests are longer
    assert train_rows.untrainable(runs(learned)[0]) is None


def test_an_encoding_may_have_positions_of_its_own():
    (encoding,) = parse_several('dict(name="alibi", positions=dict(name="shifted", max_shift=4))')
    run = runs(encoding)[0]
    assert run.model.encodings[0].to_dict()["positions"]["name"] == "shifted"
