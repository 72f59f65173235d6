"""Jinja templates of pages, and a check that their numbers are looked up.

Every measured number in a page is a lookup, so no page can state a number that the records do
not have.
"""

import functools
import re
from typing import Any

import jinja2

from docs.build.rounding import at_most, power_at_most

_NUMBER = re.compile(r"(?<![A-Za-z\d])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")  # and not T5
_WORD = re.compile(
    r"\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen|twenty)\b", re.IGNORECASE
)
_TYPED = re.compile(r"\{\{\s*[-\d'\"][^}]*\}\}")  # a literal in place of a lookup
_LOOKUPS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_CODE = re.compile(r"<!--.*?-->|```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


def render(template: str, **lookups: Any) -> str:
    """Return the page of a template.

    Raises:
      jinja2.UndefinedError: a lookup does not exist.
    """
    return _environment().from_string(template).render(lookups)


@functools.cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["two"] = _two_digits
    environment.filters["whole"] = "{:,.0f}".format
    environment.filters["at_most"] = functools.partial(at_most, digits=2)
    environment.filters["power_at_most"] = power_at_most
    return environment


def _two_digits(number: float) -> str:
    """Return two digits after the point, with a true minus sign and without "-0.00"."""
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")


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
