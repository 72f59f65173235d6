"""An encoding of a user's own package runs the laws by the line of docs/reuse.md."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab.contrib.laws import encoding_laws as laws

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reuse.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## An encoding of your own\n")[2]
NAME = "my_package.log_distance:LogDistance"
QUICK = ("shape_is_kept_and_finite", "shift_is_ignored_if_relative")


@pytest.fixture
def write_program(tmp_path, monkeypatch):
    """Write the encoding of docs/reuse.md, with `old` replaced, to a package on the import path."""
    path, program = re.search(
        r"```python\n# (my_package/\S+)\n(.*?)```", SECTION, re.DOTALL
    ).groups()
    (tmp_path / path).parent.mkdir()
    monkeypatch.syspath_prepend(tmp_path)

    def write(old="", new=""):
        (tmp_path / path).write_text(program.replace(old, new), encoding="utf-8")
        return tmp_path

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] == "my_package"]:
        del sys.modules[name]


@pytest.fixture
def quick_laws(monkeypatch):
    monkeypatch.setattr(laws, "LAWS", {law: laws.LAWS[law] for law in QUICK})


@pytest.mark.slow
@pytest.mark.usefixtures("quick_laws")
def test_laws_that_hold_are_named(write_program):
    write_program()
    assert laws.check(dict(name=NAME, slope=2.0)) == list(QUICK)


@pytest.mark.slow
@pytest.mark.usefixtures("quick_laws")
def test_a_law_that_does_not_hold_is_an_error(write_program):
    write_program("relative=True", "relative=False")
    with pytest.raises(AssertionError, match=r"^differ by .* only"):
        laws.check(dict(name=NAME, slope=2.0))


@pytest.mark.full
def test_the_line_of_the_page_runs_every_law(write_program):
    command = r"^    pe-lab laws encodings '(.*)'$"
    (member,) = re.findall(command, SECTION, re.MULTILINE)
    assert NAME in member
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(
        [sys.executable, "-m", "pe_lab", "laws", "encoding", member],
        cwd=write_program(),  # the package is in the current folder
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout
    (passed,) = re.findall(r"(\d+) laws passed", result.stdout)
    assert int(passed) > 50  # about twenty in each architecture, as the page says
