"""The folder of the published studies."""

from pathlib import Path

STUDIES = Path("results/published")
