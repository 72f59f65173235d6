"""One process at a time, however it ends."""

import fcntl
import os
import signal
import subprocess
import sys
import threading

import pytest

from pe_lab.runs.system import locks

HOLDS = """
import sys, time
from pathlib import Path
from pe_lab.runs.system import locks
with locks.held(Path(sys.argv[1])) as mine:
    print(mine, flush=True)
    time.sleep(60)
"""


def test_a_lock_is_one_processs_and_ends_with_it_even_killed(tmp_path):
    file = tmp_path / "a.lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(file)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "True\n"
        with locks.held(file) as mine:
            assert not mine
        other.send_signal(signal.SIGKILL)
        other.wait()
        with locks.held(file) as mine, locks.held(file) as again:
            assert (mine, again) == (True, False)
    with locks.held(file) as mine:
        assert mine


def test_a_lock_that_is_a_link_leads_to_no_file_of_the_user(tmp_path):
    precious, lock = tmp_path / "precious", tmp_path / "a.lock"
    precious.write_text("precious")
    lock.symlink_to(precious)
    assert not locks.is_held(lock)
    with pytest.raises(OSError, match="symbolic links"), locks.held(lock):
        pass
    lock.unlink()
    lock.symlink_to(tmp_path / "nowhere")
    assert not locks.is_held(lock)
    assert (precious.read_text(), not (tmp_path / "nowhere").exists()) == ("precious", True)


def test_a_look_at_a_lock_writes_nothing(tmp_path):
    file = tmp_path / "a.lock"
    assert not locks.is_held(file)
    assert not file.exists()
    os.mkfifo(file)  # and it does not wait for a writer
    assert not locks.is_held(file)
    file.unlink()
    file.write_text("text")
    assert not locks.is_held(file)
    with locks.held(file):
        assert locks.is_held(file)
    assert file.read_text() == "text"


def test_a_look_of_another_process_does_not_refuse_the_lock(tmp_path):
    file = tmp_path / "a.lock"
    file.touch()
    look = file.open()
    fcntl.flock(look, fcntl.LOCK_SH)
    threading.Timer(0.02, look.close).start()
    with locks.held(file) as is_ours:
        assert is_ours
