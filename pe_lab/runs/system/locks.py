"""File locks between processes. A lock ends with its process, even if the process is killed."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

# Exit status of a process that must be started again later, because another process holds the
# lock or because it was preempted (EX_TEMPFAIL).
LATER = 75


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
        fcntl.flock(handle, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)  # which also releases the lock
