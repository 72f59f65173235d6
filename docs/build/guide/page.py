"""Lookups of docs/guide.md: every number in it comes from a committed record."""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from flax import nnx

from docs.build import initialization, story_gradients, suite_grid
from docs.build.numbers import Numbers
from pe_lab.encodings.sinusoidal import Sinusoidal
from pe_lab.inspection import scorecard
from pe_lab.inspection.scorecard import Row

SCORECARD = Path("docs/pictures/scorecard.json")
MEASURED = Path("docs/pictures/guide/guide.json")
STUDIES = Path("results/published")
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


def lookups(root: Path) -> dict[str, Any]:
    """Lookups of the page, from the records below `root`."""
    rows = json.loads((root / SCORECARD).read_text(encoding="utf-8"))
    measured = json.loads((root / MEASURED).read_text(encoding="utf-8"))
    card = {name: Row(**row) for name, row in rows.items()}

    @functools.cache
    def of(study: str) -> Numbers:
        return Numbers(root / STUDIES / study)

    return {
        "card": lambda name, number: card[name].numbers[number],
        "table_of_cards": scorecard.table(_cards(card, measured)),
        "columns": "\n".join(f"- *{p.name}*: {p.means}." for p in scorecard.PROPERTIES),
        "measured": measured,
        "gradients": story_gradients.lookups(root),
        "grid": suite_grid.lookups(root),
        "initial": initialization.Initial(root / initialization.RECORD),
        "sinusoid": _sinusoid,
        "exact_match": lambda study, *at: of(study).center(*at),
        "solved": lambda study, *names: of(study).solved(*names),
    }


def _sinusoid(position: int, width: int) -> list[float]:
    """Return the entries of a sinusoidal embedding, for a worked example."""
    encoding = Sinusoidal(width=width, rngs=nnx.Rngs(0))
    embedding = encoding.embed(jnp.array([[position]]))
    return list(embedding[0, 0].tolist())


def _cards(card: Mapping[str, Row], measured: Mapping[str, Any]) -> list[Row]:
    """Return the rows of the guide's steps. The normalized index comes after the raw one."""
    rows = [card[name] for name in _CARD if name in card]
    if "normalized" in measured.get("fresh", {}):
        rows.insert(1, Row("normalized", "embedding", measured["fresh"]["normalized"]))
    return rows
