"""What a disk or a path refuses is one sentence, and a command that only reads makes no file."""

import resource
import shutil
from pathlib import Path

import pytest

from pe_lab.cli import _exit
from tests.experiments.entry_points import call
from tests.results import synthetic

CONFIG = """
from ml_collections import ConfigDict
from tests import tiny

def get_config():
    return ConfigDict(tiny.values())
"""


def status_and_sentence(capsys, body):
    with pytest.raises(SystemExit) as ended:
        _exit.exit_with(body)
    return ended.value.code, capsys.readouterr().err


def test_a_limit_on_the_size_of_files_is_one_sentence(tmp_path, capsys):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        ended = status_and_sentence(capsys, lambda: (tmp_path / "a").write_text("a" * 2000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    kept = "; what is finished is kept, and the same command goes on"
    assert ended == (1, f"error: [Errno 27] File too large{kept}\n")


@pytest.mark.parametrize("path", ["/proc/x/y", f"{__file__}/y", "a" * 300])
def test_a_path_that_cannot_be_is_one_sentence(tmp_path, capsys, path):
    status, sentence = status_and_sentence(capsys, lambda: (tmp_path / path).mkdir(parents=True))
    assert (status, sentence.count("\n"), sentence[:14]) == (1, 1, "error: [Errno ")


@pytest.mark.slow
def test_a_command_that_only_reads_makes_no_file(tmp_path):
    (tmp_path / "mine.py").write_text(CONFIG)
    path = [tmp_path, Path(__file__).parents[2]]
    study = synthetic.write(
        tmp_path / "elsewhere", encodings=("rope",), tasks=(), schemes=(), rates=(), offsets=(0,)
    )
    before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")}
    lines = [
        ["list", "studies"],
        ["list", "encodings"],
        ["examples", "mine.py"],
        ["sweep", "mine.py", "--dry-run"],
        ["suite", "rope", "--smoke", "--dry-run"],
        *([command, study] for command in ("status", "check")),
    ]
    for line in lines:
        assert call(*line, cwd=tmp_path, path=path).returncode == 0, line
        shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
        assert {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*")} == before, line
