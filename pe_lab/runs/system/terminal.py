"""Text for a reader: in a terminal, lines break between words and tables have its width.

A file or a pipe gets every line and every column as they are. Durations are in words.
"""

import io
import itertools
import os
import re
import shutil
import sys
import textwrap
from typing import TextIO

_NARROWEST = 40  # columns for which text is made to fit
_NAME = 24  # characters of the names in a table that is too wide
_SEPARATOR = re.compile(r"(?<!\\)\|")  # between the cells of a row
_INTERVAL = re.compile(r" \[[^\]]*\]")
_UNSOLVED = " not solved"
# A line of a docstring ends here although its paragraph goes on.
_BREAK = re.compile(r"(?<=[^\n]{75})\n(?=[^\s|-])(?![A-Z][\w ]*: )")
_HANGING = re.compile(r" *(?:- |\S+ {2,})?")  # what the further lines of a line are indented by
_COLORS = {"error:": 31, "failed:": 31, "FAILED": 31, "note:": 33}  # of ANSI
_UNITS = {"years": 365 * 86400, "days": 86400, "hours": 3600, "minutes": 60}


def show(content: object, *, is_error: bool = False, is_docstring: bool = False) -> None:
    """Print a text, which may have tables in Markdown. Errors go to stderr.

    What is printed to a closed pipe is lost.

    Args:
      is_docstring: its lines are as wide as a source file, so a terminal breaks them anew.
    """
    text = str(content)
    file = sys.stderr if is_error else sys.stdout
    if file is not None and file.isatty():  # None: the stream is closed
        if is_docstring:
            text = _BREAK.sub(" ", text)
        text = fitted(text, max(_NARROWEST, shutil.get_terminal_size().columns))
        if not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb":
            text = _colored(text)
    try:
        print(text, file=file, flush=True)
    except BrokenPipeError:  # the reader, such as `head`, has seen enough: the work goes on
        assert file is not None
        drop_output(file)


def fitted(text: str, width: int) -> str:
    """Return a text of which no line is broken inside a word. Tables lose what does not fit."""
    lines: list[str] = []
    table: list[str] = []
    # None, after the last line, ends a table.
    for line in [*text.split("\n"), None]:
        if line is not None and line.startswith("|"):
            table.append(line)
            continue
        if table:
            lines += _table(table, width)
            table = []
        if line is not None:
            lines += _wrapped(line, width)
    return "\n".join(lines)


def _wrapped(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    hanging = _HANGING.match(line)
    indent = len(hanging[0]) if hanging else 0
    if indent > width // 2:
        indent = len(line) - len(line.lstrip())
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,  # a path stays whole
        break_on_hyphens=False,
    )


def _table(lines: list[str], width: int) -> list[str]:
    """Return the lines of a table in Markdown, without what does not fit.

    Lines that only begin like a table are wrapped.
    """
    if max(map(len, lines)) <= width:
        return lines
    rows = [_cells(line) for line in lines if not set(line) <= set("|-")]
    has_separator = len(rows) < len(lines)
    if not (rows and all(rows) and has_separator):
        return [part for line in lines for part in _wrapped(line, width)]
    rows = [row for row in rows if len(row) == len(rows[0])]
    header = rows[0]
    notes = []
    left_out = []
    if _width(rows) > width and any(map(_INTERVAL.search, itertools.chain(*rows))):
        rows = [[_INTERVAL.sub("", cell) for cell in row] for row in rows]
        left_out.append("the intervals")
    if _width(rows) > width and any(_UNSOLVED in cell for cell in itertools.chain(*rows)):
        rows = [[cell.replace(_UNSOLVED, "*") for cell in row] for row in rows]
        notes.append(f"*:{_UNSOLVED}.")
    rows = _with_short_names(rows, width)
    while _width(rows) > width and len(rows[0]) > 2:
        column = _least_column(rows[0])
        rows = [[*row[:column], *row[column + 1 :]] for row in rows]
    dropped = [name for name in header if name not in rows[0]]
    if dropped:
        left_out.append(f"column{'s' * (len(dropped) > 1)} {', '.join(dropped)}")
    if left_out:
        notes.append(f"Left out here: {', '.join(left_out)}.")
    return [*_aligned(rows), *_wrapped(" ".join(notes), width)]


def _cells(line: str) -> list[str]:
    return [cell.strip().replace("\\|", "|") for cell in _SEPARATOR.split(line)[1:-1]]


def _widths(rows: list[list[str]]) -> list[int]:
    return [max(map(len, column)) for column in zip(*rows, strict=True)]


def _width(rows: list[list[str]]) -> int:
    return sum(_widths(rows)) + 2 * (len(rows[0]) - 1)


def _aligned(rows: list[list[str]]) -> list[str]:
    widths = _widths(rows)
    lines = []
    for name, *cells in rows:
        parts = [name.ljust(widths[0])]
        parts += [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)]
        lines.append("  ".join(parts).rstrip())
    lines.insert(1, "-" * _width(rows))
    return lines


def _with_short_names(rows: list[list[str]], width: int) -> list[list[str]]:
    """Cut long names before their sign, such as †, unless two would become equal."""
    longest = max(len(name) for name, *_ in rows)
    most = max(_NAME, longest - max(0, _width(rows) - width))
    names = []
    for name, *_ in rows:
        sign = name[-2:] if re.search(r" [^\w)]$", name) else ""
        cut = name[: most - 1 - len(sign)].rstrip() + "…" + sign
        names.append(name if len(name) <= most else cut)
    if len(set(names)) < len({name for name, *_ in rows}):
        return rows
    return [[name, *cells] for name, (_, *cells) in zip(names, rows, strict=True)]


def _least_column(header: list[str]) -> int:
    """Return the column that is dropped first: a short training length, or else the last one."""
    lengths = [index for index, name in enumerate(header) if name.isdecimal()]
    return lengths[0] if len(lengths) > 1 else len(header) - 1


def _colored(text: str) -> str:
    lines = []
    for line in text.split("\n"):
        for word, color in _COLORS.items():
            if line.startswith(word):
                line = f"\x1b[{color}m{word}\x1b[0m{line.removeprefix(word)}"
        lines.append(line)
    return "\n".join(lines)


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


def drop_output(stream: TextIO) -> None:
    """Lose what a stream has left to print, and all that follows: its reader is gone.

    Python would try again at its exit, and end with another status.
    """
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def duration(seconds: float) -> str:
    """Return a duration in the largest unit of which it has two or more: 90.0 minutes."""
    for unit, size in _UNITS.items():
        if seconds >= 2 * size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.0f} seconds"


def rough_duration(seconds: float) -> str:
    """Return a duration in round numbers, which change seldom while it is shown: 6 minutes."""
    if seconds < 10:
        return "a few seconds"
    if seconds < 90:
        return f"{10 * round(seconds / 10)} seconds"
    if seconds < 90 * 60:
        return f"{round(seconds / 60)} minutes"
    if seconds < 36 * 3600:
        return f"{seconds / 3600:.1f} hours"
    return duration(seconds)
