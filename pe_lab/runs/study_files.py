"""The file study.json of a results folder: the study's name, its runs and its analysis spec."""

import json
from pathlib import Path
from typing import Any

from pe_lab.runs.errors import UserError, one_line


def study_of(folder: Path) -> tuple[str, list[tuple[dict[str, str], str]]]:
    """Return the name and the entries (labels by axis, run_id) of the study in a folder.

    Raises:
      UserError: there is none, or its study.json is damaged.
    """
    try:
        study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
        entries = [(entry["labels"], entry["run_id"]) for entry in study["entries"]]
        return study["name"], entries
    except (FileNotFoundError, NotADirectoryError) as e:
        raise UserError(f"There is no study in {folder}: {folder}/study.json is missing.") from e
    except (OSError, ValueError, KeyError, TypeError) as e:
        raise UserError(
            f"{folder}/study.json is damaged ({one_line(e)}): run the sweep again to write it."
        ) from e


def analysis_of(folder: Path) -> dict[str, Any]:
    """Return the analysis spec of the study in a folder as plain data; empty without one."""
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    return study.get("analysis", {})


def folder_of(study: str, folder: Path) -> Path:
    """Return the folder of a study as another study refers to it.

    Args:
      study: "" for the same study, a name for a folder next to it, or a path.
      folder: of the other study.
    """
    if not study:
        return folder
    if "/" in study:
        return Path(study)
    return folder.parent / study
