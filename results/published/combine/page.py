"""The rms of a sinusoidal encoding on combine's page."""

from pathlib import Path
from typing import Any

from experiments import published


def lookups(root: Path) -> dict[str, Any]:
    """Return the rms of a sinusoidal encoding at scale 1, relative to that of a token."""
    added = published.of(root, "combine").chosen.cases_of("sinusoidal · add · 1.0 · 64")
    return {"scale_ratio": float(added["scale_ratio"].str[0].median())}
