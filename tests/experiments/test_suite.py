"""The standard suite from its command: an encoding of a user's package inside the table."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pe_lab.runs import records
from pe_lab.runs.labels import parse_several
from pe_lab.studies import suite
from pe_lab.sweeps import design_checks, study
from tests.experiments.entry_points import call

ROOT = Path(__file__).parents[2]
MINE = """
from pe_lab.encodings.alibi import ALiBi

class Mine(ALiBi):
    pass
"""


def runs(*encodings, form=suite.SMOKE, names=None):
    points = suite.points([encodings], form, names)
    return study.expand(form.name, suite.get_config(form.smoke).to_dict(), points, Path()).runs


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
    assert 0 < len(before) < 5  # three rates of one seed, then two seeds
    done = call("suite", *arguments, path=[tmp_path])
    assert done.returncode == 0, done.stderr
    assert {path: path.read_bytes() for path in before} == before
    trained = records.read_all(folder).values()
    assert [record["status"] for record in trained] == ["finished"] * 5
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("| mine")][:1]
    assert row.split("|")[1].strip() == "mine"
    assert row in (tmp_path / "rows" / "all_rows.md").read_text()
    assert r"\label{tab:suite-" in (tmp_path / "rows" / "all_rows.tex").read_text()


@pytest.mark.slow
def test_an_unknown_encoding_is_refused_with_the_near_name():
    done = call("suite", "rpoe", "--dry_run")
    assert done.returncode == 2
    assert "rope" in done.stderr.splitlines()[0]


@pytest.mark.slow
def test_a_mistake_in_the_last_encoding_is_reported_before_anything_is_trained(tmp_path):
    done = call("suite", "alibi", "rpoe", "--smoke", f"--results={tmp_path / 'rows'}")
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "rows").exists()


@pytest.mark.slow
def test_a_dry_run_without_encodings_is_refused():
    done = call("suite", "--dry_run")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "error: --dry-run and --write-groups plan the runs of encodings: name some.\n"
    )


@pytest.mark.slow
def test_a_table_without_rows_is_refused(tmp_path):
    done = call("suite", "--smoke", f"--results={tmp_path}")
    assert (done.returncode, done.stderr) == (
        2,
        "error: There is no row yet: name one, as in mine=my_package.mine:Mine.\n",
    )


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
    assert "3 runs in 1 run group" in done.stdout


def test_two_forms_at_once_are_refused():
    done = call("suite", "--quick", "--smoke")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: Give --quick or --smoke, not both.\n"


@pytest.mark.slow
def test_a_table_that_ends_before_the_training_length_has_a_reason():
    (learned,) = parse_several("learned(max_positions=8)")
    reason = design_checks.untrainable(runs(learned)[0])
    assert reason == "learned has positions 0..7; length 4 asks for position 9"
    (learned,) = parse_several("learned(max_positions=10)")  # the tests are longer
    assert design_checks.untrainable(runs(learned)[0]) is None


def test_an_encoding_may_have_positions_of_its_own():
    (encoding,) = parse_several('dict(name="alibi", positions=dict(name="shifted", max_shift=4))')
    run = runs(encoding)[0]
    assert run.model.encodings[0].to_dict()["positions"]["name"] == "shifted"


@pytest.mark.slow
def test_every_task_is_tested_at_the_same_multiples_of_its_training_length():
    for task in suite.TASKS:
        run = runs({"name": "nope"}, form=suite.FULL, names=[task])[0]
        trained = run.train.max_length
        assert [n / trained for n in run.evaluate.lengths] == [1, 1.5, 2, 4]
