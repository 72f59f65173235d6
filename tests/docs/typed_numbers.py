"""A check that the numbers of a template are looked up."""

import re

_NUMBER = re.compile(r"(?<![A-Za-z\d])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")  # and not T5
_WORD = re.compile(
    r"\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen|twenty)\b", re.IGNORECASE
)
_TYPED = re.compile(r"\{\{\s*[-\d'\"][^}]*\}\}")  # a literal in place of a lookup
_LOOKUPS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_CODE = re.compile(r"<!--.*?-->|```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


def typed_numbers(template: str) -> list[str]:
    """Return a sentence for each number of a template that is no lookup.

    Code, links and comments may have digits.
    """
    numbers = [(match.start(), match[0]) for match in _TYPED.finditer(template)]
    text = _CODE.sub(_blank, _LOOKUPS.sub(_blank, template))
    for pattern in (_NUMBER, _WORD):
        numbers += [(match.start(), match[0]) for match in pattern.finditer(text)]
    sentences = []
    for start, number in sorted(numbers):
        line = text.count("\n", 0, start) + 1
        sentences.append(f"line {line}: {number} is typed, not looked up")
    return sentences


def _blank(match: re.Match[str]) -> str:
    """Return spaces of the same length, so that positions and lines do not change."""
    return re.sub(r"[^\n]", " ", match[0])
