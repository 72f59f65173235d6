"""Colors, markers, dashes and words for the variants of a study.

Nothing here knows an encoding by name: a variant gets its style by its place in the study.
"""

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pe_lab import parts
from pe_lab.runs.errors import UserError
from pe_lab.runs.settings import labels

# Every two colors differ by at least 0.13 in OKLab, and by 0.059 as readers without one kind of
# cone see them. Each has a contrast of at least 3 on white and on the dark report page.
PALETTE = (
    "#0c6c9c",
    "#d80000",
    "#30a824",
    "#e47800",
    "#a800d8",
    "#6090fc",
    "#606c00",
    "#fc4884",
    "#905454",
    "#e454e4",
    "#609078",
    "#8460c0",
    "#c00084",
    "#0054fc",
    "#b484a8",
)
GRAY = "#8c8c8c"
MARKERS = "os^DvPX<>*"  # Matplotlib's letters
# Lengths of line and gap, in line widths. The first is a solid line.
DASHES: tuple[tuple[float, ...], ...] = (
    (),
    (4.0, 1.5),
    (1.0, 1.2),
    (6.0, 1.5, 1.0, 1.5),
    (3.0, 1.0, 1.0, 1.0, 1.0, 1.0),
)
_FAMILIES = ("encodings", "positions", "tasks")
_NAME = re.compile(r"(?:[A-Za-z_][\w.]*:)?[A-Za-z]\w*")  # rope, or package.module:Class


@dataclass(frozen=True)
class Style:
    """The look of one line."""

    color: str
    marker: str
    dash: tuple[float, ...] = ()

    @property
    def linestyle(self) -> str | tuple[float, tuple[float, ...]]:
        """The dashes as Matplotlib takes them."""
        return (0.0, self.dash) if self.dash else "-"


def assign(
    panels: Sequence[Sequence[str]], fixed: Mapping[str, Style] | None = None
) -> dict[str, Style]:
    """Return a style for each name.

    Two names that share a panel differ in color, up to the size of the palette. No two names share
    color, marker and dash, up to the number of combinations.

    Args:
      panels: the names of the lines of each axes, in the order of the study. A name may be in
        several panels.
      fixed: the styles of names that have one already.
    """
    assigned = dict(fixed or {})
    for name in dict.fromkeys(itertools.chain(*panels)):
        if name in assigned:
            continue
        panels_of_name = [panel for panel in panels if name in panel]
        neighbors = set(itertools.chain(*panels_of_name))
        taken = {assigned[other].color for other in neighbors if other in assigned}
        free = [style for style in _all_styles() if style not in assigned.values()]
        in_free_color = [style for style in free if style.color not in taken]
        # With more names than styles, names share the first style.
        first, *_ = in_free_color or free or _all_styles()
        assigned[name] = first
    return assigned


@functools.cache
def _all_styles() -> list[Style]:
    """Return all combinations: all colors with solid lines first."""
    styles = []
    for round_, dash in enumerate(DASHES):
        for place, color in enumerate(PALETTE):
            # The markers move on, so that a color that returns has another marker, too.
            index = (place + 3 * round_) % len(MARKERS)
            styles.append(Style(color, MARKERS[index], dash))
    return styles


def axis_name(axis: str) -> str:
    """Return the name of an axis of the study in words: learning rate."""
    return axis.rpartition(".")[2].replace("_", " ")


def words(label: str, axis: str = "") -> str:
    """Return a label in words: "rope(base=500.0)" becomes "RoPE, base 500".

    A label that a config chose freely keeps its words.

    Args:
      axis: the axis of the study that has the label. It names a label that says nothing alone:
        "8" becomes "max length 8".
    """
    name = axis_name(axis)
    if name and label in ("True", "False", "None", "none"):
        return name if label == "True" else f"no {name}"
    try:
        return f"{name} {float(label):g}".strip()
    except ValueError:
        pass
    try:
        plugins = labels.parse(label)
    except UserError:
        return _name_first(label)
    described = []
    for plugin in plugins:
        parts = [name_in_words(plugin["name"])]
        parts += [_argument(key, value) for key, value in plugin.items() if key != "name"]
        described.append(", ".join(parts))
    return " + ".join(described)


def _name_first(text: str) -> str:
    """Return a text in which the first word is in words if it is the name of a plugin."""
    name = _NAME.match(text)
    if name is None:
        return text
    return name_in_words(name[0]) + text[name.end() :]


def _argument(key: str, value: object) -> str:
    name = key.replace("_", " ")
    if isinstance(value, bool):
        return name if value else f"no {name}"
    if isinstance(value, int | float):
        return f"{name} {value:g}"
    if isinstance(value, list | tuple):
        return f"{name} {', '.join(map(labels.argument_label, value))}"
    return f"{name} {words(labels.label(value))}"


@functools.cache
def name_in_words(name: str) -> str:
    """Return the name of a plugin in words: RoPE, T5 bias, single sine.

    The class of the plugin has the spelling.
    """
    if ":" in name:
        return name.partition(":")[2]
    source = _source(name)
    classes = re.findall(r"^class (\w+)", source, re.MULTILINE)
    spelling = next((c for c in classes if c.lower() == name.replace("_", "")), None)
    if spelling is None:
        return name.replace("_", " ")
    parts, start = [], 0
    for part in name.split("_"):
        end = start + len(part)
        word = spelling[start:end]
        start = end
        # A word with capitals inside or digits is a proper name: RoPE, T5. An author is one, too.
        is_plain = word[1:].islower() and word.isalpha() and f"{word} et al" not in source
        parts.append(word.lower() if is_plain else word)
    return " ".join(parts)


def _source(name: str) -> str:
    """Return the source of a plugin's file, without importing it; "" if there is none."""
    for family in _FAMILIES:
        # Importing the class would import JAX.
        file = parts.file(family, name) if name.isidentifier() else None
        if file is not None:
            return file.read_text(encoding="utf-8")
    return ""
