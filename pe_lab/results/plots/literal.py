"""Texts of users in figures, shown as they are written.

Matplotlib reads `$…$` as a formula, leaves a label that begins with "_" out of the legend, and
draws a box for a character that its font does not have.
"""

import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.text import Text

_MARK = "\N{ZERO WIDTH SPACE}"  # before "_"


def legend_label(text: str) -> str:
    """Return a label that the legend lists, also if it begins with "_"."""
    return f"{_MARK}{text}" if text.startswith("_") else text


def apply(figure: "Figure") -> None:
    """Show all texts of a figure as they are written, except the numbers at the ticks."""
    from matplotlib.text import Text

    ticks: set[Text] = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            ticks.update(_tick_labels(axis))
    for text in figure.findobj(Text):
        if isinstance(text, Text) and text not in ticks:
            text.set_parse_math(False)
            content = text.get_text().removeprefix(_MARK)
            text.set_text(_drawable(content, text))


def _tick_labels(axis: "Axis") -> "list[Text]":
    """Return the labels at the ticks of an axis. Those with words are shown as they are written."""
    from matplotlib import ticker

    formatter = axis.get_major_formatter()
    labels = []
    for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
        labels += [tick.label1, tick.label2]
    # 10³ on a log axis is a formula. The formatter writes the labels again when they are drawn.
    if isinstance(formatter, ticker.LogFormatter | ticker.ScalarFormatter):
        return [*labels, axis.get_offset_text()]
    drawable = {}
    for label in axis.get_ticklabels():
        drawable[label.get_text()] = _drawable(label.get_text(), label)
    if any(content != text for content, text in drawable.items()):
        axis.set_major_formatter(
            ticker.FuncFormatter(lambda *tick: drawable.get(formatter(*tick), formatter(*tick)))
        )
    for label in labels:
        label.set_parse_math(False)
    return labels


def _drawable(content: str, text: "Text") -> str:
    """Return the content of a text with `\\u4e2d` for characters that no font here has.

    The text gets a second font, if that one has the characters that its own font lacks.
    """
    font = text.get_fontproperties()
    missing = frozenset(content) - {"\n"} - _characters(font)
    if not missing:
        return content
    family = _family_with(frozenset(filter(str.isprintable, missing)))
    if family is not None:
        text.set_fontfamily([*text.get_fontfamily(), family])
        missing = frozenset(character for character in missing if not character.isprintable())
    escaped = {ord(c): c.encode("unicode_escape").decode() for c in missing}
    return content.translate(escaped)


@functools.cache
def _characters(font: "FontProperties") -> frozenset[str]:
    from matplotlib import font_manager

    return frozenset(map(chr, font_manager.get_font(font_manager.findfont(font)).get_charmap()))


@functools.cache
def _family_with(characters: frozenset[str]) -> str | None:
    """Return the family of a font of this machine that has all characters; None without one."""
    from matplotlib import font_manager

    for entry in font_manager.fontManager.ttflist:
        # One has a box for every character, and colored fonts have no outlines.
        if any(word in entry.name for word in ("Last Resort", "Color", "Emoji")):
            continue
        try:
            charmap = font_manager.get_font(entry.fname).get_charmap()
        except (OSError, RuntimeError):  # a font that was removed, or that has no outlines
            continue
        if all(ord(character) in charmap for character in characters):
            return entry.name
    return None
