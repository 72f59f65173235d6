"""Lookups of docs/encodings.md: the scorecard of every encoding, and a picture of each."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from configs import speedruns
from docs.build import catalog, markdown
from pe_lab.contrib.inspection import encoding_pictures, scorecard
from pe_lab.contrib.inspection.scorecard import Row
from pe_lab.contrib.inspection.untrained import UntrainedEncoding
from pe_lab.runs.plugins import plugins
from pe_lab.runs.settings import labels

SCORECARD = Path("docs/pictures/scorecard.json")
_COLORS, _DPI = 256, 110  # small files, and words that can still be read
_NOT_MEASURED = "it is not measured yet"
_HEAD = """## Measured properties

The table is of untrained encodings with {length} positions, width {width} and {heads} heads. The picture of an encoding is on its
page of the site, and in docs/pictures. `python -m docs.build --measure=scorecard` measures and draws it again. For other arguments,
lengths or your own encodings use `pe-lab inspect NAMES`.
"""


def measure(name: str) -> dict[str, Any]:
    """Its row, as JSON."""
    return dataclasses.asdict(scorecard.row(catalog.untrained(name)))


def draw(name: str, folder: Path) -> None:
    """Its picture, with few colours so that the file is small."""
    from PIL import Image  # matplotlib brings it

    file = folder / f"{name}.png"
    encoding_pictures.draw(catalog.untrained(name), [file], dpi=_DPI)
    with Image.open(file) as image:
        small = image.convert("RGB").quantize(
            _COLORS, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE
        )
    small.save(file, optimize=True)


def lookups(root: Path) -> dict[str, Any]:
    """Lookups of the page, from classes and the records below `root`."""
    return {
        "encodings": catalog.encoding_tables(),
        "requirements": catalog.requirement_table(),
        "schemes": catalog.scheme_table(),
        "starts": catalog.start_table(),
        "hybrids": hybrid_table(),
        "measured": _section(rows(root)),
    }


def hybrid_table() -> str:
    """Return the encodings of published models that treat their layers differently."""
    table = [["model", "encodings of four layers"]]
    for model, specs in speedruns.HYBRIDS.items():
        table.append([model, ", ".join(f"`{labels.label(spec)}`" for spec in specs)])
    return markdown.table(table)


def rows(root: Path) -> dict[str, Row]:
    """Return each encoding's row of the scorecard; one without a measurement has dashes."""
    record = json.loads((root / SCORECARD).read_text(encoding="utf-8"))
    by_name = {}
    for name in plugins.names("encodings"):
        not_measured = Row(name, None, {}, _NOT_MEASURED)
        by_name[name] = Row(**record[name]) if name in record else not_measured
    return by_name


def _section(by_name: Mapping[str, Row]) -> str:
    size = UntrainedEncoding({"name": "nope"})
    card = scorecard.table(list(by_name.values()), list(by_name))
    for name in by_name:
        # A cell of the table cannot have a link, so that it is set afterwards.
        link = f"[{name}](../{catalog.path('encodings', name)})"
        card = card.replace(f"\n| {name} ", f"\n| {link} ")
    return "\n\n".join(
        [
            _HEAD.format(length=size.length, width=size.width, heads=size.num_heads).rstrip(),
            card,
            scorecard.legend() + "\n" + scorecard.reasons(list(by_name.values())),
        ]
    )
