"""The part of docs/encodings.md that is measured: the scorecard of every encoding, and a picture of each with its caption."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pe_lab.inspection import pictures, scorecard
from pe_lab.inspection.captions import caption
from pe_lab.inspection.probe import Probe
from pe_lab.inspection.scorecard import PROPERTIES, Row

ARGUMENTS: dict[str, dict[str, Any]] = {  # of those that need some
    "chunks": {"size": 16},
    "dape": {"inner": {"name": "kerple"}},
    "sliding_window": {"size": 16},
}
_COLORS, _DPI = 256, 110  # small files, and words that can still be read
BEGIN, END = "<!-- from here on written by python -m experiments.document -->", "<!-- to here -->"
_HEAD = """
## What each one is, measured

Of {length} positions, width {width} and {heads} heads, untrained; `python -m experiments.document --scorecard` measures and draws
again, and `python -m experiments.inspect --encodings=…` does so for any arguments, lengths and classes of one's own.
"""


def probe(name: str) -> Probe:
    """An encoding as the page shows it: its defaults, where these suffice."""
    return Probe({"name": name, **ARGUMENTS.get(name, {})})


def measure(name: str) -> dict[str, Any]:
    """Its row, as JSON."""
    return dataclasses.asdict(scorecard.row(probe(name)))


def draw(name: str, folder: Path) -> None:
    """Its picture, with few colours so that the file is small."""
    from PIL import Image  # matplotlib brings it

    file = folder / f"{name}.png"
    pictures.draw(probe(name), [file], dpi=_DPI)
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(
            _COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
    small.save(file, optimize=True)


def inserted(page: str, measured: Mapping[str, Mapping[str, Any]], folder: str) -> str:
    """The page with its measured part as these rows have it.

    Args:
      measured: name -> what `measure` gave; folder: of the pictures, as the page links to it.
    """
    before, begins, rest = page.partition(BEGIN)
    _, ends, after = rest.partition(END)
    if not (begins and ends):
        raise ValueError(f"The page has no place for what is measured, between {BEGIN} and {END}.")
    return (
        before
        + BEGIN
        + _section({name: Row(**row) for name, row in measured.items()}, folder)
        + END
        + after
    )


def _section(rows: Mapping[str, Row], folder: str) -> str:
    names, size = list(rows), Probe({"name": "nope"})
    card = scorecard.table(list(rows.values()), [f"[{name}](#{name})" for name in names])
    parts = [
        _HEAD.format(length=size.length, width=size.width, heads=size.num_heads).rstrip(),
        card,
    ]
    parts.append(scorecard.legend() + "\n" + scorecard.reasons(list(rows.values())))
    for name, row in rows.items():
        line = (
            ", ".join(f"*{p.name}* {scorecard.cell(row, p)}" for p in PROPERTIES) + "."
            if row.numbers
            else ""
        )
        shown = f"![{name}: picture]({folder}/{name}.png)"
        parts.append(
            "\n\n".join(part for part in (f"### {name}", line, shown, caption(row)) if part)
        )
    return "\n\n".join(parts) + "\n\n"
