"""`pe-lab laws` on classes of a user's package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pe_lab import cli
from pe_lab.contrib.laws import encoding_laws, scheme_laws, scheme_report
from pe_lab.contrib.laws.cli import laws
from pe_lab.runs.errors import UserError
from pe_lab.runs.settings import labels
from tests.experiments import entry_points

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
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

BROKEN = """

@dataclass(frozen=True)
class Descending(Spaced):
    def __call__(self, keys, mask, **rest):
        return (20 - self.step * indices(mask))[None] * mask[None]

    def bound(self, length, train):
        return 20


@dataclass(frozen=True)
class Padded(Spaced):
    def __call__(self, keys, mask, **rest):
        return super().__call__(keys, mask, **rest) * mask.shape[1]


@dataclass(frozen=True)
class Undeclared(Spaced):
    def __call__(self, keys, mask, **rest):
        return super().__call__(keys, mask, **rest) * mask.sum(axis=1)[None, :, None]


@dataclass(frozen=True)
class Raising(Spaced):
    def __call__(self, keys, mask, **rest):
        raise TypeError("no positions today")
"""


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
            ["scheme", "contiguous", "--law=traits_say_positions"],
            "'traits_say_what_positions_are'?",
        ),
        (["encoding", "rope", "--law=order_is_seen", "--quick"], "Give --law or --quick"),
        (["encoding", "rope,alibi"], "checks one encoding at a time, got 'rope,alibi'."),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(arguments, sentence):
    assert sentence in entry_points.refused("laws", *arguments)


def test_a_missing_package_is_named_with_its_installation(monkeypatch):
    monkeypatch.setattr(laws, "_CHECKS_TYPES", "no_such_package")
    with pytest.raises(UserError) as raised:
        cli.run(["laws", "encoding", "rope"])
    assert str(raised.value) == "The laws need no_such_package: pip install 'pe_lab[laws]'."


@pytest.mark.parametrize("family", ["encodings", "positions"])
def test_the_names_of_laws_in_their_files_are_those_that_run(family):
    defined = {"encodings": encoding_laws, "positions": scheme_laws}[family].LAWS
    assert sorted(laws.law_names(family)) == sorted(defined)


@pytest.mark.parametrize(
    ("scheme", "law", "reason"),
    [
        ("Spaced(largest=3)", "positions_ascend", "the largest position of 7 tokens is 12"),
        ("Descending", "positions_ascend", "do not ascend, and the scheme declares ascending"),
        ("Padded", "the_padded_length_changes", "Mismatched elements"),
        ("Undeclared", "traits_say", "reads_length = False"),
        ("Raising", "positions_ascend", "It raises TypeError: no positions today"),
    ],
)
def test_a_failure_of_a_scheme_names_its_law_and_the_reason(
    scheme, law, reason, monkeypatch, tmp_path
):
    (tmp_path / "broken_schemes.py").write_text(SCHEME + BROKEN, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    (spec,) = labels.parse_several(f"broken_schemes:{scheme}")
    lines = list(scheme_report.check(spec, keep_going=True))
    start = next(i for i, line in enumerate(lines) if line.startswith(f"FAILS  {law}"))
    assert reason in " ".join(" ".join(lines[start:]).split())
    assert max(map(len, lines)) <= 80
    assert re.fullmatch(r"\d laws? failed, \d laws? passed", lines[-1])
