"""The published studies that pages look up."""

import functools
from pathlib import Path

from pe_lab.results import frame
from pe_lab.results.prose import Prose

STUDIES = Path("results/published")


@functools.cache
def of(root: Path, study: str) -> Prose:
    """Return the texts of a published study below `root`."""
    return Prose(frame.read(root / STUDIES / study))
