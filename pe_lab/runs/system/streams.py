"""The standard streams of a process."""

import io
import os
import sys
from typing import TextIO


def replace_unencodable() -> None:
    """Print "?" for characters that the encoding of stdout or stderr does not have.

    By default, a process in a locale without UTF-8 ends at the first such character. Files are
    UTF-8 everywhere. What is printed to a closed stream is lost.
    """
    # The next file that this process opens would get the number of a closed stream, and then what
    # a library or a subprocess prints.
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def drop(stream: TextIO) -> None:
    """Lose what a stream has left to print, and all that follows: its reader is gone.

    Python would try again at its exit, and end with another status.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
