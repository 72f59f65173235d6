"""Lookups of docs/encodings.md: the scorecard of every encoding, and a picture of each."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pe_lab.inspection import encoding_pictures, scorecard
from pe_lab.inspection.captions import caption
from pe_lab.inspection.scorecard import PROPERTIES, Row
from pe_lab.inspection.untrained import UntrainedEncoding

ARGUMENTS: dict[str, dict[str, Any]] = {  # of those that need some
    "chunks": {"size": 16},
    "dape": {"inner": {"name": "kerple"}},
    "sliding_window": {"size": 16},
}
SCORECARD = Path("docs/pictures/scorecard.json")
_COLORS, _DPI = 256, 110  # small files, and words that can still be read
_HEAD = """## What each one is, measured

Of {length} positions, width {width} and {heads} heads, untrained; `python -m docs.build --measure=scorecard` measures and draws
again, and `python -m experiments.inspect --encodings=…` does so for any arguments, lengths and classes of one's own.
"""


def probe(name: str) -> UntrainedEncoding:
    """An encoding as the page shows it: its defaults, where these suffice."""
    return UntrainedEncoding({"name": name, **ARGUMENTS.get(name, {})})


def measure(name: str) -> dict[str, Any]:
    """Its row, as JSON."""
    return dataclasses.asdict(scorecard.row(probe(name)))


def draw(name: str, folder: Path) -> None:
    """Its picture, with few colours so that the file is small."""
    from PIL import Image  # matplotlib brings it

    file = folder / f"{name}.png"
    encoding_pictures.draw(probe(name), [file], dpi=_DPI)
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(
            _COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
    small.save(file, optimize=True)


def lookups(root: Path) -> dict[str, str]:
    """Lookups of the page, from the scorecard below `root`."""
    record = json.loads((root / SCORECARD).read_text(encoding="utf-8"))
    rows = {name: Row(**row) for name, row in record.items()}
    return {"measured": _section(rows, SCORECARD.parent.name)}


def _section(rows: Mapping[str, Row], folder: str) -> str:
    names, size = list(rows), UntrainedEncoding({"name": "nope"})
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
    return "\n\n".join(parts)
