"""docs/guide.md from its template: every number in it is looked up in a committed record when the
page is written.
"""

import functools
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pe_lab.inspection import scorecard
from pe_lab.inspection.scorecard import Row
from pe_lab.results import numbers
from pe_lab.results.numbers import Numbers

_CARD = (
    "raw_index",
    "binary",
    "single_sine",
    "multi_sine",
    "sinusoidal",
    "learned",
    "rope",
    "t5_bias",
    "alibi",
    "shaw",
)


def render(
    template: str, rows: Mapping[str, Mapping[str, Any]], measured: Mapping[str, Any], studies: Path
) -> str:
    """The page.

    Args:
      rows: the scorecard's, by encoding; measured: what numbers.py and trained.py gave; studies:
        the folder of the published ones.
    """
    import jinja2

    card = {name: Row(**row) for name, row in rows.items()}
    of = functools.cache(lambda study: Numbers(studies / study))
    environment = jinja2.Environment(
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {
        "two": _two,
        "whole": "{:,.0f}".format,
        "at_most": functools.partial(numbers.at_most, digits=2),
        "power_at_most": numbers.power_at_most,
    }
    known = {
        "card": lambda name, number: card[name].numbers[number],
        "table_of_cards": scorecard.table(_cards(card, measured)),
        "columns": "\n".join(f"- *{p.name}*: {p.means}." for p in scorecard.PROPERTIES),
        "measured": measured,
        "of": of,
        "exact_match": lambda study, *at: of(study).center(*at),
        "solved": lambda study, *names: of(study).solved(*names),
    }
    return environment.from_string(template).render(known)


def _cards(card: Mapping[str, Row], measured: Mapping[str, Any]) -> list[Row]:
    """Those of the story, in its order; the index divided by the length is no encoding of its own
    and stands behind the raw one.
    """
    rows = [card[name] for name in _CARD if name in card]
    if "normalized" in measured.get("fresh", {}):
        rows.insert(1, Row("normalized", "code", measured["fresh"]["normalized"]))
    return rows


def _two(number: float) -> str:
    """Two digits after the point, a true minus, and no minus before nothing."""
    return f"{number:.2f}".replace("-0.00", "0.00").replace("-", "−")
