"""Files of a user with the name of a module of the standard library or of a package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab import import_path
from tests.experiments.swept_studies import TWO_RUNS

ROOT = Path(__file__).parents[1]
NAMES = ("copy", "random", "numbers", "queue", "json", "string", "jax", "optax")
SHADOWED = 'raise ImportError("This is a file of the user.")'


@pytest.mark.parametrize("entries", [["", "mine"], ["here", "mine"], ["mine"]])
def test_the_standard_library_comes_first_and_the_current_folder_last(
    monkeypatch, tmp_path, entries
):
    standard = [
        os.path.dirname(os.__file__),
        os.path.join(os.path.dirname(os.__file__), "lib-dynload"),
    ]
    monkeypatch.chdir(tmp_path)
    entries = [str(tmp_path) if entry == "here" else entry for entry in entries]
    monkeypatch.setattr(sys, "path", [*entries, standard[0], "packages", standard[1]])
    import_path.order_folders()
    assert [entry or str(tmp_path) for entry in sys.path][:5] == [
        *standard,
        *("mine", "packages", str(tmp_path)),
    ]


def test_a_checkout_keeps_its_place_because_another_pe_lab_may_be_installed(monkeypatch):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", [str(ROOT), "packages"])
    import_path.order_folders()
    assert sys.path == [str(ROOT), "packages"]


def test_another_process_searches_the_same_folders(monkeypatch):
    monkeypatch.setattr(sys, "path", ["a", "", "b"])
    folders = os.pathsep.join(["a", os.getcwd(), "b"])
    assert import_path.variables() == {"PYTHONPATH": folders}


def write_shadows(folder):
    for name in NAMES:
        (folder / f"{name}.py").write_text(SHADOWED, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("safe", [[], ["-P"]])
def test_the_process_of_a_run_group_starts_beside_files_with_names_of_other_modules(tmp_path, safe):
    write_shadows(tmp_path)
    (tmp_path / "groups").mkdir()
    done = subprocess.run(
        [sys.executable, *safe, "-m", "pe_lab.training.process", "groups/x.json", "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "groups/x.json cannot be read" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", [["-m", "pe_lab"], ["-c", "from pe_lab import cli; cli.main()"]]
)
def test_a_sweep_trains_beside_files_with_names_of_other_modules(tmp_path, program):
    write_shadows(tmp_path)
    (tmp_path / "study.py").write_text(TWO_RUNS, encoding="utf-8")
    safe = [] if program[0] == "-m" else ["-P"]  # a script does not search the current folder
    done = subprocess.run(
        [sys.executable, *safe, *program, "sweep", "study.py", "--results=out"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "2 of 2 runs" in done.stdout
