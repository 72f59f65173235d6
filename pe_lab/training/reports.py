"""Reports of a run group's process: events as JSON objects, which nothing else can write.

A plugin may print, and its output is not a report. So a process that reports on its stdout reserves
that stream for reports, and all other output goes to its stderr.
"""

import io
import json
import os
import sys
from collections.abc import Callable
from multiprocessing.connection import Connection

from pe_lab.runs.records.record_schema import JsonObject

Event = JsonObject
Report = Callable[[Event], None]


class ReaderIsGone(Exception):  # noqa: N818
    """Nobody reads the reports of this process any more. A plugin's BrokenPipeError is no such."""


def printed(event: Event) -> None:
    """Print an event as one line."""
    print(json.dumps(event), flush=True)


def claim_stdout() -> io.TextIOWrapper:
    """Return a file that leads to this process's stdout. From now on, prints lead to stderr.

    Programs that this process starts do not inherit the file. Its forks do.
    """
    # What is still buffered belongs to the old stdout.
    sys.stdout.flush()
    file = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return file


def to(file: io.TextIOWrapper) -> Report:
    """Return a function that writes each event to a file as one line.

    It raises ReaderIsGone if the reader has ended.
    """

    def report(event: Event) -> None:
        try:
            file.write(f"{json.dumps(event)}\n")
            file.flush()
        except BrokenPipeError as e:
            # Python must not flush into the closed pipe at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), file.fileno())
            raise ReaderIsGone from e

    return report


def over(connection: Connection) -> Report:
    """Return a function that sends each event; it raises ReaderIsGone if the reader has ended."""

    def report(event: Event) -> None:
        try:
            # JSON and not `send`, whose pickle could run code of a plugin in the sweep.
            connection.send_bytes(json.dumps(event).encode())
        except BrokenPipeError as e:
            raise ReaderIsGone from e

    return report
