"""Lookups of docs/guide.md: every number in it comes from a committed record."""

import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
from flax import nnx

from docs.build import encodings, initialization
from pe_lab.encodings.sinusoidal import Sinusoidal

MEASURED = Path("docs/pictures/guide/guide.json")


def lookups(root: Path) -> dict[str, Any]:
    """Lookups of the page, from the records below `root`."""
    card = encodings.rows(root)
    measured = json.loads((root / MEASURED).read_text(encoding="utf-8"))
    return {
        "card": lambda name, number: card[name].numbers[number],
        "measured": measured,
        "initial": initialization.Initial(root / initialization.RECORD),
        "sinusoid": _sinusoid,
    }


def _sinusoid(position: int, width: int) -> list[float]:
    """Return the entries of a sinusoidal embedding, for a worked example."""
    encoding = Sinusoidal(width=width, rngs=nnx.Rngs(0))
    embedding = encoding.embed(jnp.array([[position]]))
    return list(embedding[0, 0].tolist())
