"""One colour and one marker for an encoding, the same in every picture of every study.

A section of docs/encodings.md is a hue, in two shades; an encoding in it has a marker that no other
of its hue has. All shades are told apart by readers without one kind of cone (at least 0.05 in
OKLab as each of the three sees them), and are legible on white and on black (contrast of 3 or
more). Lines of one encoding in one picture differ by their dashes, which mean nothing beyond it.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

GREY = "#6b6b6b"
MARKERS = "os^DvPX<>*"  # matplotlib's letters
DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (4.0, 1.5),
    (1.0, 1.2),
    (6.0, 1.5, 1.0, 1.5),
    (3.0, 1.0, 1.0, 1.0, 1.0, 1.0),
)  # lengths of line and gap, in line widths
_RED, _BLUE, _GREEN, _MAGENTA = (
    ("#ce0827", "#ff5052"),
    ("#0a6da0", "#0a97dd"),
    ("#447303", "#619f08"),
    ("#bd04a3", "#f43fd5"),
)
_VIOLET = ("#733af9", "#917bfe")  # encodings that are not of pe_lab
_FAMILIES = (  # hue, first marker: those that are compared most differ in both
    (
        _RED,
        "o",
        "raw_index binary single_sine multi_sine sinusoidal sinusoidal_2d learned "
        "learnable_fourier random_fourier",
    ),
    (
        _BLUE,
        "o",
        "rope xpos axial_rope mixed_rope pope selective_rope rotary_value self_extend "
        "position_temperature",
    ),
    (
        _GREEN,
        "s",
        "alibi t5_bias kerple fire sandwich dynamic_position_bias sliding_window chunks hard_alibi",
    ),
    (
        _MAGENTA,
        "D",
        "shaw transformer_xl music_transformer deberta cope relative_logits dape fox "
        "stick_breaking path",
    ),
)


@dataclass(frozen=True)
class Style:
    """How an encoding is drawn."""

    color: str
    marker: str


def _style(shades: Sequence[str], first: str, place: int) -> Style:
    return Style(shades[place % 2], MARKERS[(MARKERS.index(first) + place) % len(MARKERS)])


NOPE = Style(GREY, "o")
STYLES = {"nope": NOPE} | {
    name: _style(shades, first, place)
    for shades, first, names in _FAMILIES
    for place, name in enumerate(names.split())
}


def of_name(name: str) -> Style:
    """Of one encoding; of one that is not of pe_lab, violet and a marker that its name alone
    decides.
    """
    return STYLES.get(name) or _style(_VIOLET, MARKERS[0], zlib.crc32(name.encode()) % len(MARKERS))


def of_encodings(specs: Sequence[Mapping[str, Any]]) -> Style:
    """Of all encodings of a model: the colour of the first, the marker of the last."""
    if not specs:
        return NOPE
    return Style(of_name(specs[0]["name"]).color, of_name(specs[-1]["name"]).marker)


def dashes(looks: Sequence[Style | str]) -> list[tuple[float, ...]]:
    """For lines of one picture: those of one style, or of one colour, differ, as far as there are
    dashes.
    """
    return [DASHES[list(looks[:i]).count(look) % len(DASHES)] for i, look in enumerate(looks)]
