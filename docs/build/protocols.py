"""Lookups of docs/protocols.md: the paper protocols of configs/papers, from their docstrings."""

import importlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from docs.build import markdown
from pe_lab.results import read_analysis_spec
from pe_lab.runs.studies.analysis_spec import Literature

FOLDER = Path("configs/papers")
# A paper, or the script of a protocol that has none.
_SOURCE = re.compile(r"https://(?:arxiv\.org/abs/[\d.]+|github\.com/\S+\.py)")
_RUNS = re.compile(r"([\d,]+)\s+runs\b")
_SCALED = re.compile(r":scaled\s+# (about [\d.]+ \w+)")
_LITERATURE = re.compile(r":literature\s+# (about [\d.]+ \w+)")


def lookups(root: Path) -> dict[str, Any]:
    """Return the table of the protocols, and the tables of the figures from the literature."""
    modules = [importlib.import_module(f"configs.papers.{name}") for name in names(root)]
    rows = [["config", "question", "source", "runs of the protocol", "scaled", "literature"]]
    figures = []
    for module in modules:
        name = module.__name__.rpartition(".")[2]
        rows.append([f"[{name}](../{FOLDER}/{name}.py)", *_row(module.__doc__ or "")])
        analysis = module.analysis() if hasattr(module, "analysis") else {}
        for literature in read_analysis_spec.from_dict(analysis).literature:
            figures.append(f"### {name}: {literature.source}\n\n{_figures(literature)}")
    return {"table": markdown.table(rows), "figures": "\n\n".join(figures)}


def names(root: Path) -> list[str]:
    """Return the names of the configs of papers."""
    stems = [path.stem for path in sorted((root / FOLDER).glob("*.py"))]
    return [name for name in stems if name not in ("__init__", "forms")]


def _row(docstring: str) -> list[str]:
    question = " ".join(docstring.partition("\n\n")[0].split())
    addresses = dict.fromkeys(_SOURCE.findall(docstring))
    sources = ", ".join(f"[{address.rpartition('/')[2]}]({address})" for address in addresses)
    patterns = (_RUNS, _SCALED, _LITERATURE)
    return [question, sources, *(_first(pattern, docstring) for pattern in patterns)]


def _first(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return match.group(1) if match else "–"


def _figures(literature: Literature) -> str:
    """One row for each variant and one column for each point."""
    points = list(dict.fromkeys(figure.metric.point for figure in literature.figures))
    values = {(f.variant, f.metric.point): f.value for f in literature.figures}
    variants = dict.fromkeys(figure.variant for figure in literature.figures)
    header = ["variant", *(str(point).removeprefix("at ") for point in points)]
    rows: list[Sequence[str]] = [header]
    for variant in variants:
        of_points = [values.get((variant, point)) for point in points]
        rows.append([variant, *("–" if v is None else f"{v:g}" for v in of_points)])
    return markdown.table(rows)
