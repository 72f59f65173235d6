"""Lines that the reports on encodings and on schemes share."""

import textwrap
from collections.abc import Callable, Iterable

_COLUMNS = 80
INDENT = 7  # of the lines below the name of a law


def indented(lines: Iterable[str]) -> list[str]:
    """Lines below the name of a law, wrapped at 80 columns."""
    wrapped = [part for line in lines for part in textwrap.wrap(line, _COLUMNS - INDENT)]
    return [f"{'':{INDENT}}{line}" for line in wrapped]


def demand(law: Callable) -> str:
    """The first sentence of a law's docstring, which says what the law demands."""
    paragraph = (law.__doc__ or "").strip().partition("\n\n")[0]
    return " ".join(paragraph.split())


def stopped(only: str | None) -> str:
    """The last line after a law that does not hold."""
    if only:
        return "1 law failed"
    return "1 law failed; the laws after it were not checked (--keep-going checks all)"


def total(num_held: int, num_broken: int) -> str:
    """The last line after all laws."""
    words = [f"{num_held} law{'' if num_held == 1 else 's'} passed"]
    if num_broken:
        words.insert(0, f"{num_broken} law{'' if num_broken == 1 else 's'} failed")
    return ", ".join(words)
