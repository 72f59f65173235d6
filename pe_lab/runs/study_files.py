"""The file study.json of a results folder: the study's name, its runs and its analysis spec."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.record_schema import JsonObject

# Names in analysis specs before the second edition, and their names now. Published studies keep
# the study.json that they were trained with.
_NEW_KEYS = {"success": "extrapolation"}
_NEW_AXES = {"evaluate.changes": "evaluate.overrides"}
_NEW_METRICS = {"success": "extrapolates", "learnt": "solved"}


def study_of(folder: Path) -> tuple[str, list[tuple[dict[str, str], str]]]:
    """Return the name and the entries (labels by axis, run_id) of the study in a folder.

    Raises:
      UserError: there is none, or its study.json is damaged.
    """
    try:
        study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
        entries = []
        for entry in study["entries"]:
            labels = {}
            for axis, label in entry["labels"].items():
                labels[_NEW_AXES.get(axis, axis)] = label
            entries.append((labels, entry["run_id"]))
        return study["name"], entries
    except (FileNotFoundError, NotADirectoryError) as e:
        inside = sorted(path.parent for path in folder.glob("*/study.json"))
        hint = f" Its folder {inside[0]} holds one." if inside else ""
        raise UserError(
            f"There is no study in {folder}: {folder}/study.json is missing.{hint}"
        ) from e
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        raise UserError(
            f"{folder}/study.json is damaged ({one_line(e)}): run the sweep again to write it."
        ) from e


def later_runs_of(folder: Path) -> int:
    """Return the number of runs of a tuned study that will join it when the settings are chosen."""
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    tuning = study.get("tuning") or {}
    return int(tuning.get("later_runs", 0))


def analysis_of(folder: Path) -> dict[str, Any]:
    """Return the analysis spec of the study in a folder as plain data; empty without one."""
    study = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    return _with_new_names(study.get("analysis", {}))


def _with_new_names(analysis: JsonObject) -> dict[str, Any]:
    """Return an analysis spec of any version with the key and the metrics of this version."""
    upgraded_spec = {_NEW_KEYS.get(key, key): value for key, value in analysis.items()}
    if "tables" in upgraded_spec:
        upgraded_spec["tables"] = [
            _table_with_new_names(table) for table in upgraded_spec["tables"]
        ]
    return upgraded_spec


def _table_with_new_names(table: JsonObject) -> dict[str, object]:
    upgraded_table: dict[str, object] = dict(table)
    if "metric" in table:
        upgraded_table["metric"] = _metric_with_new_name(table["metric"])
    if "measures" in table:
        upgraded_table["measures"] = [_metric_with_new_name(metric) for metric in table["measures"]]
    return upgraded_table


def _metric_with_new_name(metric: object) -> object:
    """Return a metric, which is a name or a dict with the key "name"."""
    if isinstance(metric, str):
        return _NEW_METRICS.get(metric, metric)
    if not isinstance(metric, Mapping) or "name" not in metric:
        return metric
    name = metric["name"]
    return {**metric, "name": _NEW_METRICS.get(name, name)}


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
