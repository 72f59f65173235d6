"""One process at a time: a lock that ends with the process that holds it, however it ends. Plain
Python.
"""

import contextlib
import fcntl
from collections.abc import Iterator
from pathlib import Path

# exit status: start me again later; another process is at it, or I was asked to leave (EX_TEMPFAIL)
LATER = 75


@contextlib.contextmanager
def held(file: Path) -> Iterator[bool]:
    """Whether this process holds the lock of a file meanwhile; False where another one does."""
    with open(file, "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
