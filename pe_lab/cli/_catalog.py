"""What `pe-lab list` and `pe-lab show` know: the names of each kind, each with a line."""

from collections.abc import Mapping
from pathlib import Path

from pe_lab import parts
from pe_lab.cli import _docstrings, _studies
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import other_packages, plugins
from pe_lab.runs.studies import study_files

FAMILIES = other_packages.FAMILIES
KINDS = (*FAMILIES, "configs", "studies")


def summaries(kind: str) -> Mapping[str, str]:
    """Return the names of a kind, each with one line. JAX is not imported."""
    if kind in FAMILIES:
        return _members(kind)
    return _configs() if kind == "configs" else _study_questions()


def _members(family: str) -> dict[str, str]:
    """Return pe_lab's own members, and those that installed packages add."""
    lines = {}
    for name in plugins.names(family):
        lines[name] = _docstrings.summary(parts.file(family, name))
    for name, path in other_packages.installed(family).items():
        lines.setdefault(name, path)
    return lines


def _configs() -> dict[str, str]:
    """Return the configs of the folder of configs here, and pe_lab's own."""
    files = _studies.config_files()
    return {name: _docstrings.summary(file) for name, file in files.items()}


def _study_questions() -> dict[str, str]:
    """Return the studies of the results folders here, each with its question."""
    return {name: _question(folder) for name, folder in _studies.folders().items()}


def _question(folder: Path) -> str:
    try:
        study = study_files.read(folder)
    except UserError as e:  # a damaged study must not hide the others
        return str(e)
    return str(study.analysis.get("question", f"{len(study.entries)} runs"))
