"""`pe-lab laws` on classes of a user's package."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab import cli
from pe_lab.cli import laws
from pe_lab.runs.errors import UserError
from tests.experiments import entry_points

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SCHEME = '''"""Positions at a fixed distance from each other."""

from dataclasses import dataclass

from pe_lab.positions.base import PositionScheme, indices


@dataclass(frozen=True)
class Spaced(PositionScheme):
    step: int = 2
    largest: int = 10_000

    def __call__(self, keys, mask, *, segments=None, structure=None, train):
        return (self.step * indices(mask))[None]

    def bound(self, length: int, train: bool) -> int | float:
        return min(self.step * (length - 1), self.largest)
'''


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [("", 0, "passed"), ("(largest=3)", 1, "failed")],
    ids=["laws hold", "bound too small"],
)
def test_the_laws_of_schemes_run_on_a_class_of_another_package(arguments, status, words, tmp_path):
    (tmp_path / "spaced_scheme.py").write_text(SCHEME, encoding="utf-8")
    command = [sys.executable, "-m", "pe_lab", "laws", "scheme"]
    process = subprocess.run(
        [*command, f"spaced_scheme:Spaced{arguments}"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert process.returncode == status, process.stdout
    assert words in process.stdout.splitlines()[-1]
    assert "Traceback" not in process.stdout


@pytest.mark.parametrize(
    ("encoding", "status", "lines"),
    [
        ("nope", 0, ["ok     order_is_seen  (decoder)", "2 laws passed"]),
        (
            "tests.encodings.broken:StartsQueriesAtZero",
            1,
            [
                "FAILS  shift_is_ignored_if_relative  (decoder)",
                "Likely cause: the encoding counts queries from 0",
            ],
        ),
    ],
)
def test_one_law_of_an_encoding(encoding, status, lines):
    law = lines[0].split()[1]
    command = [sys.executable, "-m", "pe_lab", "laws", "encodings", encoding, f"--law={law}"]
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (status, "")
    for line in lines:
        assert line in process.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "pe-lab laws needs FAMILY: encodings or positions."),
        (["encoding"], "pe-lab laws needs MEMBER: one member, such as "),
        (["task", "copy"], "pe-lab laws: FAMILY has no 'task'"),
        (["encoding", "ropee"], "Did you mean 'rope'?"),
        (["encoding", "rope", "--law=future_leaks"], "Did you mean 'future_does_not_leak'?"),
        (
            ["scheme", "contiguous", "--law=test_traits_say_positions"],
            "'test_traits_say_what_positions_are'?",
        ),
        (["encoding", "rope", "--law=order_is_seen", "--quick"], "Give --law or --quick"),
        (["encoding", "rope,alibi"], "checks one encoding at a time, got 'rope,alibi'."),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(arguments, sentence):
    assert sentence in entry_points.refused("laws", *arguments)


def test_missing_packages_of_the_tests_are_named_with_their_installation(monkeypatch):
    monkeypatch.chdir(laws.ROOT)
    monkeypatch.setattr(laws, "_PACKAGES", ("pytest", "no_such_package"))
    with pytest.raises(UserError) as raised:
        cli.run(["laws", "encoding", "rope"])
    sentence = str(raised.value)
    assert sentence.startswith("The laws are tests, and need no_such_package: ")
    assert sentence.endswith("python -m pip install -r requirements-dev.lock")
    assert (laws.ROOT / "requirements-dev.lock").exists()
