"""One process at a time, however it ends."""

import signal
import subprocess
import sys

from pe_lab.runs import locks

HOLDS = """
import sys, time
from pathlib import Path
from pe_lab.runs import locks
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
