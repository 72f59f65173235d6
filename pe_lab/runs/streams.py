"""The standard streams of a process."""

import io
import sys


def replace_unencodable() -> None:
    """Print "?" for characters that the encoding of stdout or stderr does not have.

    By default, a process in a locale without UTF-8 ends at the first such character. Files are
    UTF-8 everywhere.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
