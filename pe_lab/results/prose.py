"""Pages of prose about published studies: templates, and checks of their numbers.

A page is rendered from a template. Each number in it is a lookup (numbers.py), so that no page
can state a number that the records do not have.
"""

import functools
import itertools
import re
from collections.abc import Callable
from pathlib import Path

from pe_lab.results.numbers import Numbers

_NUMBER = re.compile(r"(?<![A-Za-z\d])\d[\d,]*(?:\.\d+)?(?:e-?\d+)?")  # and not T5
_WORD = re.compile(
    r"\b(?:three|four|five|six|seven|eight|nine|ten|eleven|twelve|sixteen|twenty)\b", re.IGNORECASE
)
_TYPED = re.compile(r"\{\{\s*[-\d'\"][^}]*\}\}")  # a literal in place of a lookup
_LOOKUPS = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}", re.DOTALL)
_CODE = re.compile(r"<!--.*?-->|```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)


def render(template: str, folder: Path, studies: Path, **more: Callable[..., str]) -> str:
    """The page of a template.

    Args:
      template: Jinja; `study` has the lookups of this page's study, `of("name")` those of another.
      folder: the study of the page.
      studies: folder of all published studies.
      more: further lookups by name.
    """
    import jinja2

    of = functools.cache(lambda name: Numbers(studies / name))
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return environment.from_string(template).render(study=of(folder.name), of=of, **more)


def typed_numbers(template: str) -> list[str]:
    """Return a sentence for each number of a template that is no lookup.

    Code, links and comments may have digits.
    """
    typed = [(match.start(), match[0]) for match in _TYPED.finditer(template)]
    text = _CODE.sub(_blank, _LOOKUPS.sub(_blank, template))
    typed += [
        (match.start(), match[0]) for kind in (_NUMBER, _WORD) for match in kind.finditer(text)
    ]
    return [
        f"line {_line(template, at)}: {number} is typed, not looked up"
        for at, number in sorted(typed)
    ]


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def wrong_numbers(text: str, page: str) -> list[str]:
    """Return a sentence for each line of a text that differs from the rendered page."""
    sentences = []
    for number, (line, right) in enumerate(
        itertools.zip_longest(text.split("\n"), page.split("\n"), fillvalue=""), start=1
    ):
        if line == right:
            continue
        pairs = zip(_NUMBER.findall(line), _NUMBER.findall(right), strict=False)
        wrong = next(((a, b) for a, b in pairs if a != b), None)
        if wrong is None:
            sentences.append(f"line {number} is not that of the template: {line!r}")
        else:
            sentences.append(f"line {number} says {wrong[0]}, and the records say {wrong[1]}")
    return sentences
