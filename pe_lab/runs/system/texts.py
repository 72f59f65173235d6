"""Texts of other people's files and of plugins, which may hold anything."""

import unicodedata
from collections.abc import Mapping
from typing import Any

# Control characters, invisible marks such as those of the direction of writing, lone surrogates,
# and separators of lines and paragraphs.
_UNSAFE = ("Cc", "Cf", "Cs", "Zl", "Zp")


def printable(text: str, keep: str = "") -> str:
    """Return a text with escapes, such as \\x1b, in place of what a terminal or a page would obey.

    Args:
      keep: characters that stay.
    """
    if text.isprintable():
        return text
    return "".join(c if c in keep else _escaped(c) for c in text)


def is_printable(text: str) -> bool:
    """Return whether `printable` changes nothing."""
    return printable(text) == text


def printable_values(content: object) -> Any:
    """Return plain data with `printable` texts."""
    if isinstance(content, str):
        return printable(content)
    if isinstance(content, Mapping):
        return {printable(key): printable_values(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [printable_values(value) for value in content]
    return content


def _escaped(character: str) -> str:
    if unicodedata.category(character) not in _UNSAFE:
        return character
    return character.encode("unicode_escape").decode()
