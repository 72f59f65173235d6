"""A terminal without UTF-8 gets replaced characters, and ends no command or worker."""

import io
import os
import subprocess
import sys

import pytest

from pe_lab.training import process

TEXT = "2 × 3 – §\udc80 中"  # with a surrogate, as in a path that is not UTF-8
COMMAND = f"""
import sys
from pe_lab.cli import _exit
text = {TEXT!r}
_exit.exit_with(lambda: print(text) or print(text, file=sys.stderr) or 0)
"""


@pytest.mark.parametrize(
    ("encoding", "shown"),
    [
        ("ascii", "2 ? 3 ? ?? ?"),
        ("euc_kr", "2 × 3 ? §? 中"),
        ("latin-1", "2 × 3 ? §? ?"),
        ("utf-8:strict", "2 × 3 – §? 中"),
    ],
)
def test_characters_that_a_stream_cannot_encode_are_replaced(encoding, shown):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-c", COMMAND]
    done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
    name = encoding.partition(":")[0]
    assert done.stdout.decode(name) == done.stderr.decode(name) == f"{shown}\n"


def test_what_a_plugin_prints_does_not_end_a_worker(tmp_path, monkeypatch):
    printed = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(printed, "ascii", errors="strict"))
    monkeypatch.setattr(process, "_train", lambda *_: print(TEXT, flush=True) or 0)
    assert process.main(tmp_path / "group.json", tmp_path) == 0
    assert printed.getvalue() == b"2 ? 3 ? ?? ?\n"


ENDS = {
    "interrupt(2, None)": 130,
    "fail(UserError('a mistake'))": 2,
    "fail(OSError(errno.ENOSPC, 'full'))": 1,
    "fail(MemoryError())": 1,
    "print('more', flush=True)": 0,
}


@pytest.mark.parametrize(("end", "status"), ENDS.items())
def test_a_reader_that_is_gone_changes_no_exit_status(end, status):
    program = f"""
import errno, os, sys
from pe_lab.cli import _exit
from pe_lab.runs.errors import UserError, interrupt
def fail(error):
    raise error
def body():
    reader, writer = os.pipe()
    os.dup2(writer, 1), os.dup2(writer, 2)
    os.close(reader)
    print("not flushed")
    {end}
_exit.exit_with(body)
"""
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, check=False, timeout=60)
    assert done.returncode == status


@pytest.mark.parametrize("redirected", [">&-", "2>&-", ">&- 2>&-"])
def test_a_closed_stream_ends_no_command_and_no_file_takes_its_number(redirected, tmp_path):
    program = f"{COMMAND.replace('exit_with(lambda:', 'exit_with(lambda: keep() or')}".replace(
        "text =",
        "keep = lambda: keep.__dict__.update(file=open(sys.argv[1], 'w'))\ntext =",
    )
    command = ["sh", "-c", f'"$@" {redirected}', "sh", sys.executable, "-c", program]
    done = subprocess.run([*command, tmp_path / "file"], check=False, timeout=60)
    assert done.returncode == 0
    assert (tmp_path / "file").read_text() == ""
