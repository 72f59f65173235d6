"""File locks between processes. A lock ends with its process, even if the process is killed."""

import contextlib
import fcntl
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
    with open(file, "w", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True


def is_held(file: Path) -> bool:
    """Whether another process holds the lock of a file."""
    if not file.exists():
        return False
    try:
        with held(file) as is_free:
            return not is_free
    except OSError:  # a folder that may only be read
        return False
