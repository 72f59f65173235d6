"""The new members of README.md and docs/extending.md pass the laws, and the programs run.

A member without a test file does not stop the laws of the others.
"""

import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from matplotlib import pyplot
from matplotlib.figure import Figure

from pe_lab.results import frame
from pe_lab.sweeps import design_checks, study
from tests.results import fake_study

ROOT = Path(__file__).parents[1]
FOLDERS = ("encodings", "positions", "tasks")
PAGES = ("README.md", "docs/extending.md", "docs/studies.md", "docs/results.md")

UNTESTED = {
    "pe_lab/encodings/untested.py": '''
"""No paper: an encoding whose argument has no default."""

from pe_lab.encodings.base import AttentionEncoding


class Untested(AttentionEncoding):
    def __init__(self, *, size: int):
        self.size = size
''',
    "pe_lab/positions/untested.py": '''
"""A position scheme."""

from pe_lab.positions.contiguous import Contiguous


class Untested(Contiguous):
    """Token i has position i."""
''',
    "pe_lab/tasks/untested.py": '''
from pe_lab.tasks.copy import Copy


class Untested(Copy):
    """The target is the prompt."""
''',
}


def programs():
    """All Python programs of the pages, in order."""
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def examples():
    """Path in the first line of a program -> the program, for new files of pe_lab and tests."""
    by_first_line = {program.partition("\n")[0]: program for program in programs()}
    return {
        line.removeprefix("# "): program
        for line, program in by_first_line.items()
        if re.fullmatch(r"# (pe_lab|tests)/\S+\.py", line)
    }


def test_the_pages_have_two_encodings_and_a_task_with_their_tests_and_a_metric():
    assert list(examples()) == [
        "pe_lab/encodings/window.py",
        "tests/encodings/test_window.py",
        "pe_lab/encodings/learned_distance.py",
        "tests/encodings/test_learned_distance.py",
        "pe_lab/tasks/first.py",
        "tests/tasks/test_first.py",
        "pe_lab/metrics/first_token.py",
    ]


def test_the_config_of_a_study_is_one_with_its_variants_and_contrasts(tmp_path):
    (program,) = (p for p in programs() if p.startswith("# configs/"))
    config = {}
    exec(compile(program, "docs/studies.md", "exec"), config)
    values = config["get_config"]().to_dict()
    mine = study.expand("mine", values, config["sweep"](), tmp_path, config["analysis"]())
    assert len(mine.runs) == 4 * 5
    assert not any("repeats" in note for note in design_checks.notes(mine, seeds=5))
    mine.write(tmp_path)
    assert frame.read(tmp_path).numbers.empty  # no run has a record yet


def test_the_readme_is_short_and_its_encoding_is_the_tested_one():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 90
    assert len(text.split()) <= 700
    (program,) = re.findall(r"```python\n# learned_distance.py\n(.*?)```", text, re.DOTALL)
    assert examples()["pe_lab/encodings/learned_distance.py"].partition("\n")[2] == program


PLAIN = [program for program in programs() if not program.startswith("# ")]


def test_the_pages_have_a_reused_encoding_an_attribute_and_four_analyses():
    first_lines = [program.splitlines()[0] for program in PLAIN]
    attribute = "from dataclasses import dataclass"
    own_table = "formats, frame, latex, selection, standard_tables, summary"
    analyses = [
        f"from pe_lab.results import {own_table}",
        "from matplotlib import pyplot",
        "from pe_lab.results import frame",
        "from pe_lab.contrib.grids import run_scores",
    ]
    assert first_lines == ["import jax", attribute, *analyses]


@pytest.mark.slow
@pytest.mark.parametrize("program", PLAIN)
def test_a_program_runs(program, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    saved = []
    monkeypatch.setattr(Figure, "savefig", lambda figure, path: saved.append(figure))
    variables = {"__name__": "a_user"}
    exec(compile(program, "a page", "exec"), variables)
    pyplot.close("all")  # a user's figures stay open
    printed = capsys.readouterr().out
    # Of noise_pilot and of suite_grid:copying.
    shown = ("shaw", "t5_bias", "Shaw")
    assert "print(" not in program or any(name in printed for name in shown)
    if "as_latex" in program:
        table = variables["table"]
        assert table.header[:3] == ("variant", "exact match lost", "loses less than 0.5")
        assert fake_study.texts(table)["t5_bias"][1] == "3/6 [0.19, 0.81]"
        for text in (f"## {table.title}", table.caption, *table.notes, r"\begin{table}"):
            assert text in printed
    assert len(saved) == program.count("savefig")
    for figure in saved:
        lines = [line for axes in figure.axes for line in axes.get_legend().legend_handles]
        assert len({line.get_color() for line in lines}) == len(lines) == 5


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Test -> its error, or "": the laws of the examples and of members without a test file."""
    root = tmp_path_factory.mktemp("checkout")
    for folder in ("pe_lab", "tests"):
        shutil.copytree(ROOT / folder, root / folder, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("configs", "docs", "results"):
        (root / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "pyproject.toml", root)
    for path, program in (examples() | UNTESTED).items():
        assert not (root / path).exists()
        (root / path).write_text(program, encoding="utf-8")

    laws = [f"tests/{folder}/test_laws.py" for folder in FOLDERS]
    members = "[window or [learned_distance or [first or test_first or [untested"
    select = ["-k", members, "-m", "not full"]
    command = [
        sys.executable,
        "-m",
        "pytest",
        *laws,
        "tests/tasks/test_first.py",
        *select,
        "--junitxml=out.xml",
    ]
    env = os.environ | {"PYTHONPATH": str(root)}
    result = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)
    assert (root / "out.xml").exists(), result.stdout + result.stderr
    cases = ElementTree.parse(root / "out.xml").getroot().iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}": error_of(case) for case in cases}


def error_of(case):
    return " ".join(
        part.get("message", "") for tag in ("failure", "error") for part in case.iter(tag)
    )


def with_id(outcomes, member):
    return {test: error for test, error in outcomes.items() if f"[{member}" in test}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["window", "learned_distance"])
def test_an_encoding_passes_the_laws(outcomes, name):
    own = with_id(outcomes, name)
    assert {test: error for test, error in own.items() if error} == {}
    for law in ("order_is_seen", "future_does_not_leak"):
        assert f"tests.encodings.test_laws.test_law_holds[{name}-{law}]" in own


@pytest.mark.slow
def test_the_task_passes_the_laws_and_its_own_test(outcomes):
    first = with_id(outcomes, "first")
    assert {test: error for test, error in first.items() if error} == {}
    assert (
        "tests.tasks.test_laws."
        "test_the_docstring_has_a_worked_example_that_the_oracle_confirms[first]" in first
    )
    assert "tests.tasks.test_laws.test_the_target_is_the_oracles[first{'num_symbols': 12}]" in first
    assert outcomes["tests.tasks.test_first.test_the_target_is_the_first_symbol"] == ""


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_a_member_without_a_test_file_fails_alone_and_is_told_what_to_write(outcomes, folder):
    laws = f"tests.{folder}.test_laws"
    error = outcomes[f"{laws}.test_it_has_a_test_file_of_its_own[untested]"]
    assert f"pe_lab/{folder}/untested.py needs tests/{folder}/test_untested.py" in error
    failed = [test for test, error in outcomes.items() if error and test.startswith(laws)]
    assert failed
    assert all("[untested" in test for test in failed)


@pytest.mark.slow
def test_a_task_without_a_test_file_runs_the_laws_with_its_defaults(outcomes):
    law = "tests.tasks.test_laws.test_symbols_are_of_the_alphabets[untested]"
    assert outcomes[law] == ""
    oracle = outcomes["tests.tasks.test_laws.test_the_target_is_the_oracles[untested]"]
    assert "No module named 'tests.tasks.test_untested'" in oracle
    missing = outcomes[
        "tests.tasks.test_laws."
        "test_the_docstring_has_a_worked_example_that_the_oracle_confirms[untested]"
    ]
    assert "untested's module docstring needs an indented line like: 1 0 1 0 1 -> 1" in missing


@pytest.mark.slow
def test_an_encoding_without_a_test_file_names_the_argument_that_has_no_default(outcomes):
    error = outcomes["tests.encodings.test_laws.test_law_holds[untested-order_is_seen]"]
    assert "untested needs size: dict(name='untested', size=...)." in error
