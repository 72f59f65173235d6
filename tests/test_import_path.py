"""Files of a user that have the name of a module of the standard library."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab import import_path
from tests.experiments.swept_studies import TWO_RUNS

ROOT = Path(__file__).parents[1]
NAMES = ("copy", "random", "numbers", "queue", "json", "string")
SHADOWED = 'raise ImportError("This is a file of the user.")'


def test_the_standard_library_comes_first_and_the_rest_keeps_its_order(monkeypatch):
    standard = os.path.dirname(os.__file__)
    monkeypatch.setattr(sys, "path", ["mine", standard, "packages", f"{standard}/lib-dynload"])
    import_path.put_standard_library_first()
    assert sys.path == [standard, f"{standard}/lib-dynload", "mine", "packages"]


def test_another_process_searches_the_same_folders(monkeypatch):
    monkeypatch.setattr(sys, "path", ["a", "", "b"])
    folders = os.pathsep.join(["a", os.getcwd(), "b"])
    assert import_path.variables() == {"PYTHONPATH": folders}


@pytest.mark.slow
@pytest.mark.parametrize(
    "program", [["-m", "pe_lab"], ["-c", "from pe_lab import cli; cli.main()"]]
)
def test_a_sweep_trains_beside_files_with_names_of_the_standard_library(tmp_path, program):
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(SHADOWED, encoding="utf-8")
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
