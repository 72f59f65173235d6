"""Cells and tables, as Markdown, and frames as CSV."""

import itertools
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pandas as pd

from pe_lab.metrics.base import Limit, Value
from pe_lab.results.statistics import Interval
from pe_lab.runs.studies.outcomes import FirstStep

DASH = "–"
_EMPHASIS = re.compile(r"(?<![\w*])\*(\w[^*]*)\*(?![\w*])")  # not the stars of a*b*c
_TAG = re.compile("<(?=[A-Za-z/!?])")  # the start of an HTML tag, a comment or an autolink
_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how a formula of a spreadsheet begins


@dataclass(frozen=True)
class Cell:
    """The text of a cell, and its number without rounding if it has one.

    Attributes:
      interval: of the number; None without one.
      count: number of runs.
      signs: at the end of the text.
    """

    text: str = ""
    value: int | float | str | bool | None = None
    interval: Interval | None = None
    count: int = 0
    signs: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells under a header. The first cell of a row is its name.

    The caption names the comparison, and the notes explain the signs.
    """

    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()


def number(value: Value | None, style: str = "share", *, exact: bool = True) -> str:
    """Return the text of a number. A share below 1 is not rounded up to 1.

    Args:
      style: of the metric.
      exact: False for a number that is no share, such as a standard deviation.
    """
    if value is None:
        return DASH
    if isinstance(value, Limit | FirstStep):
        return str(value)
    if style == "whole":
        return f"{value:,.0f}"
    if style == "power":
        return f"{value:.1e}".replace("e+", "e")
    if style == "small":
        return f"{value:.2g}"
    if exact and style == "share" and 0.995 <= value < 1:
        # Two digits would say that every answer is right.
        return f"{min(value, 0.999):.3f}"
    text = f"{value:.{decimals(style)}f}"
    if not float(text):  # zero has no sign
        return text.removeprefix("-")
    return text.replace("-", "−")


def decimals(style: str) -> int:
    """Return the decimal places of a number, and of a difference of two."""
    return 3 if style == "bits" else 2


def signed(value: float | None, digits: int = 2) -> str:
    """Return the text of a difference."""
    if value is None:
        return DASH
    text = f"{value:+.{digits}f}"
    if not float(text):  # zero has no sign
        return text[1:]
    return text.replace("-", "−")


def difference(value: float | None, interval: Interval | None, digits: int = 2) -> str:
    """Return the text of a difference with its interval."""
    if interval is None:
        return signed(value, digits)
    low, high = (signed(end, digits) for end in (interval.low, interval.high))
    return f"{signed(value, digits)} [{low}, {high}]"


def p_value(p: float | None) -> str:
    """Return the text of a p value."""
    if p is None:
        return DASH
    if p < 0.001:
        return "< 0.001"
    digits = 3 if p < 0.1 else 2
    return f"{p:.{digits}f}"


def bracket(interval: Interval | None, style: str = "share", *, exact: bool = True) -> str:
    """Return an interval as it follows its number."""
    if interval is None:
        return ""
    low, high = (number(end, style, exact=exact) for end in (interval.low, interval.high))
    return f" [{low}, {high}]"


def markdown(table: Table, *, has_links: bool = False) -> str:
    """Return the table alone. Its columns are aligned in the text too.

    Args:
      has_links: cells hold links, so they must not come from a results folder.
    """
    rows = [table.header, *(tuple(cell.text for cell in row) for row in table.rows)]
    if not has_links:
        rows = [tuple(map(without_markup, row)) for row in rows]
    rows = [tuple(map(_markdown, row)) for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        padded = map(str.ljust, row, widths)
        lines.append(f"| {' | '.join(padded)} |")
    rules = ["-" * (width + 2) for width in widths]
    lines.insert(1, f"|{'|'.join(rules)}|")
    return "\n".join(lines)


def sections(tables: Sequence[Table]) -> list[str]:
    """Return title, caption and Markdown of each table."""
    parts = []
    for table in tables:
        parts += [f"## {table.title}", table.caption, markdown(table)]
    return parts


def notes(tables: Sequence[Table]) -> str:
    """Return the notes of tables as a list in Markdown, each once."""
    all_notes = itertools.chain(*(table.notes for table in tables))
    return "\n".join(f"- {note}" for note in dict.fromkeys(all_notes))


def _markdown(text: str) -> str:
    one_line = " ".join(text.split())
    # A bar would end the cell.
    return one_line.replace("|", "\\|")


def without_markup(text: str) -> str:
    """Return Markdown in which no label or error can be an HTML tag, a link, an image or a formula.

    A backslash before the sign could itself follow a backslash, so the signs are entities.
    """
    return _TAG.sub("&lt;", text).replace("](", "]&#40;").replace("$", "&#36;")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a table as CSV in which no text begins a formula of a spreadsheet."""
    safe = frame.copy()
    for name in frame.select_dtypes(exclude="number"):
        safe[name] = frame[name].astype(object).map(_without_formula)
    safe.columns = [_without_formula(name) for name in frame.columns]
    return safe.to_csv(index=False, lineterminator="\n")


def _without_formula(value: object) -> object:
    """Return a value; an apostrophe, which spreadsheets hide, precedes the text of a formula."""
    if not isinstance(value, str) or not value.startswith(_FORMULA) or _is_number(value):
        return value
    return f"'{value}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def prose(text: str, escape: Callable[[str], str], begin: str = "<em>", end: str = "</em>") -> str:
    """Return an escaped caption or note, with *words* between `begin` and `end`."""
    parts = []
    # The pattern has a group, so every second part is a word between stars.
    for index, part in enumerate(_EMPHASIS.split(text)):
        is_emphasized = index % 2 == 1
        escaped = escape(part)
        parts.append(f"{begin}{escaped}{end}" if is_emphasized else escaped)
    return "".join(parts)
