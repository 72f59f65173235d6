"""Files that a reader sees complete or not at all, and careful reading of names and JSON."""

import contextlib
import errno
import gzip
import hashlib
import io
import os
import re
import stat
import threading
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import msgspec

from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.system import texts

# Errors of a path that leads to no file. Other errors, such as EMFILE, EIO, ESTALE and EACCES, come
# from the machine and say nothing about the content of a file.
_NO_FILE = (errno.ENOTDIR, errno.EISDIR, errno.ELOOP)
# Of a file that is read whole, and of a line of a compressed file. A record has some 10 kB, and
# the study.json of a million runs less than this.
MOST_BYTES = 100_000_000
# Temporary files of `replacing`: .NAME.PID.THREAD.pe_lab, which no file of a user is called.
_TEMPORARY = re.compile(r"\..+\.(\d+)\.\d+\.pe_lab")
# A process of another machine has an id that says nothing here, and may write just now. Its disk
# may be slow, and its clock another.
_SECONDS_OF_A_WRITE = 3600.0
_LONGEST_NAME = 200  # bytes; file systems allow 255, and temporary files have longer names


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` when the `with` block ends.

    If the block raises, or the process is killed in it, `path` keeps its content.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Next to the target, because a rename is atomic within one file system only.
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.pe_lab")
    # The umask restricts 0o666, as for any new file; O_NOFOLLOW refuses a link.
    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o666)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # the rename must not reach the disk before the content
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def remove_remains(folder: Path) -> None:
    """Remove the temporary files that killed processes have left in a folder and below it."""
    for path in folder.rglob(".*"):
        parts = _TEMPORARY.fullmatch(path.name)
        with contextlib.suppress(OSError):
            if parts is None or not stat.S_ISREG(path.lstat().st_mode):  # lstat follows no link
                continue
            is_new = time.time() - path.lstat().st_mtime < _SECONDS_OF_A_WRITE
            if not is_new and not _is_alive(int(parts[1])):
                path.unlink()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)  # signal 0 only asks whether the process exists
    except (ProcessLookupError, OverflowError):  # a number in a name may be no process id
        return False
    except PermissionError:  # of another user
        return True
    return True


def append_to(path: Path, *, empty: bool = False) -> TextIO:
    """Open a log for appending, which must be no link to a file of the user.

    Args:
      empty: remove what it holds.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | (os.O_TRUNC if empty else 0)
    return os.fdopen(os.open(path, flags, 0o666), "a", encoding="utf-8")


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically."""
    with replacing(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file atomically."""
    write_bytes(path, text.encode())


def read_bytes(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
      OSError: the machine cannot read the file.
      FileNotFoundError: there is none.
      ValueError: it is a pipe, a device, a folder or a link to itself, or has too many bytes.
    """
    with _opened(path) as file:
        return _within_limit(file.read(MOST_BYTES + 1), "it has")


def compressed_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a gzip file. Memory holds one of them, which may be large.

    Raises:
      OSError: the machine cannot read the file.
      FileNotFoundError: there is none.
      ValueError: it is no plain file, its compression is damaged, or a line is too long.
    """
    with _opened(path) as file, gzip.open(file) as lines:
        while True:
            try:
                # A few kilobytes can hold a line of many gigabytes.
                line = lines.readline(MOST_BYTES + 1)
            except (gzip.BadGzipFile, EOFError, zlib.error) as e:
                raise ValueError(one_line(e)) from e
            if not line:
                return
            yield _within_limit(line, "a line has")


def _within_limit(content: bytes, subject: str) -> bytes:
    if len(content) > MOST_BYTES:
        raise ValueError(f"{subject} more than {MOST_BYTES:,} bytes")
    return content


def sha256(path: Path) -> str:
    """Return the sha256 of a file; errors as for `read_bytes`."""
    with _opened(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _opened(path: Path) -> io.BufferedReader:
    try:
        # A read of a pipe might never end.
        if not stat.S_ISREG(path.stat().st_mode):
            raise ValueError("it is not a plain file")
        return open(path, "rb")
    except OSError as e:
        if e.errno in _NO_FILE:
            raise ValueError(one_line(e)) from e
        raise


def names_in(folder: Path) -> list[str]:
    """Return the sorted names in a folder; none if there is no folder.

    Raises:
      OSError: the machine cannot read the folder, which `Path.glob` takes for an empty one.
    """
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object of a file.

    Raises:
      OSError: as for `read_bytes`.
      ValueError: it does not hold one JSON object.
    """
    return object_of(read_bytes(path))


def object_of(text: str | bytes) -> dict[str, Any]:
    """Return the JSON object of a text.

    Raises:
      ValueError: the text is something else.
    """
    try:
        # A third of the time of the standard library. Whole numbers of any size stay exact.
        content = msgspec.json.decode(text)
    except RecursionError as e:
        raise ValueError("its JSON is nested too deeply") from e
    if not isinstance(content, dict):
        raise ValueError("it is not a JSON object")
    return content


def plain_name(name: str, what: str) -> str:
    """Return a name from a file or a flag, if it is one part of a path.

    Args:
      what: what it should name, as in "a run".

    Raises:
      UserError: it could lead out of its folder, or cannot name a file.
    """
    has_separator = any(character in name for character in "/\\\0")
    if not name or name.startswith(".") or has_separator or not texts.is_printable(name):
        raise UserError(f"{name!r} is not the name of {what}.")
    if len(name.encode()) > _LONGEST_NAME:
        raise UserError(f"{name[:20]!r}… is too long for the name of {what}.")
    return name
