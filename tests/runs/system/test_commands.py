"""Commands that are printed can be pasted."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab.runs.system import commands


@pytest.mark.parametrize(
    ("interpreter", "expected"),
    [
        ("/checkout/.venv/bin/python", ".venv/bin/python"),
        ("/usr/bin/python3", "/usr/bin/python3"),
        ("/checkout-2/bin/python", "/checkout-2/bin/python"),
        ("/checkout/my env/bin/python", "'my env/bin/python'"),
    ],
)
def test_the_interpreter_is_relative_below_the_working_directory(
    monkeypatch, interpreter, expected
):
    monkeypatch.setattr(sys, "executable", interpreter)
    monkeypatch.setattr(Path, "cwd", lambda: Path("/checkout"))
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert commands.pe_lab("report", "a study") == f"{expected} -m pe_lab report 'a study'"
    monkeypatch.setattr("shutil.which", lambda name: f"{Path(interpreter).parent}/{name}")
    assert commands.pe_lab("report", "a study") == "pe-lab report 'a study'"


def test_a_printed_command_runs_with_the_packages_of_this_interpreter(tmp_path):
    program = "import sys, numpy; print(sys.argv[1])"
    command = commands.python("-c", program, "two words")
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout == "two words\n"
    assert shlex.split(command)[1:] == ["-c", program, "two words"]
