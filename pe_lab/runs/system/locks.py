"""File locks between processes. A lock ends with its process, even if the process is killed."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

# Exit status of a process that must be started again later, because another process holds the
# lock or because it was preempted (EX_TEMPFAIL).
LATER = 75
# A process that only looks whether a lock is held holds it for a moment.
_TRIES, _SECONDS_OF_A_LOOK = 5, 0.01


@contextlib.contextmanager
def held(file: Path) -> Iterator[bool]:
    """Try to hold the lock of a file inside the `with` block.

    Yields:
      True if this process holds the lock, False if another one does.
    """
    with _locked(file, os.O_RDWR | os.O_CREAT, fcntl.LOCK_EX) as is_ours:
        yield is_ours


def is_held(file: Path) -> bool:
    """Whether another process holds the lock of a file. Nothing is written."""
    try:
        # Shared, because a file that is open for reading has no exclusive lock on NFS.
        with _locked(file, os.O_RDONLY, fcntl.LOCK_SH) as is_free:
            return not is_free
    except OSError:  # there is no lock, or it is a link
        return False


@contextlib.contextmanager
def _locked(file: Path, flags: int, kind: int) -> Iterator[bool]:
    # A results folder from elsewhere may have a link or a pipe here: no file of the user that it
    # leads to is touched, and no pipe blocks.
    handle = os.open(file, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        yield any(_lock(handle, kind) for _ in range(_TRIES if kind == fcntl.LOCK_EX else 1))
    finally:
        os.close(handle)  # which also releases the lock


def _lock(handle: int, kind: int) -> bool:
    try:
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        time.sleep(_SECONDS_OF_A_LOOK)
        return False
    return True
