"""The file study.json of a results folder: the study's name, its runs and its analysis spec.

    study = {
      "schema_version": 2, "digest": ...,        # sha256 of everything else
      "name", "entries": [{"labels": {axis: label}, "run_id"}, ...],
      "analysis": its analysis spec}             # only if there is one

The digest guards against accidents, as in a record. A file of version 1 has neither a
version nor a digest. In both versions, the labels of runs must agree with the configs of their
records (study_labels.py).
"""

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings.evaluation_settings import plain
from pe_lab.runs.system import files, texts

Entry = tuple[dict[str, str], str]  # labels by axis, run id

SCHEMA_VERSION = 2
# Names in analysis specs before the second edition, and their names now. Published studies keep
# the study.json that they were trained with.
_NEW_KEYS = {"success": "extrapolation"}
_NEW_AXES = {"evaluate.changes": "evaluate.overrides"}
_NEW_METRICS = {"success": "extrapolates", "learnt": "solved"}


class _OtherVersion(UserError):  # noqa: N818
    """A study.json of a later version, which is not damaged."""


@dataclasses.dataclass(frozen=True)
class StudyFile:
    """The content of a study.json.

    Attributes:
      analysis: the analysis spec as plain data; empty without one.
    """

    name: str
    entries: list[Entry]
    analysis: JsonObject


def write(folder: Path, name: str, entries: Sequence[Entry], analysis: JsonObject) -> None:
    """Write folder/study.json atomically, with its digest.

    Raises:
      UserError: `read` would refuse it, because a name or a label has a control character.
    """
    content: dict[str, object] = {"schema_version": SCHEMA_VERSION, "name": name}
    if analysis:
        content["analysis"] = analysis
    plain_entries = []
    for entry_labels, run_id in entries:
        plain_entries.append({"labels": entry_labels, "run_id": run_id})
    content["entries"] = plain_entries
    try:
        _study(content)
    except ValueError as e:
        raise UserError(f"The study {name!r} cannot be written: {one_line(e)}.") from e
    content["digest"] = records.digest(content)
    records.write_json(folder / "study.json", content)


def read(folder: Path) -> StudyFile:
    """Read the study.json of a folder.

    Raises:
      UserError: there is none, it is damaged, or it is of another version.
    """
    path = folder / "study.json"
    if not path.exists():
        inside = sorted(file.parent for file in folder.glob("[!.]*/study.json"))
        hint = f" Its folder {inside[0]} holds one." if inside else ""
        raise UserError(f"There is no study in {folder}: {path} is missing.{hint}")
    try:
        content = files.read_object(path)
        version = content.get("schema_version", 1)
        if version not in range(1, SCHEMA_VERSION + 1):
            raise _OtherVersion(
                f"{path} has schema_version {version}; this pe_lab reads 1 to {SCHEMA_VERSION}."
            )
        _check_digest(content)
        return _study(content)
    except _OtherVersion:
        raise
    except OSError as e:
        raise UserError(f"{path} cannot be read ({one_line(e)}).") from e
    except (ValueError, TypeError) as e:
        raise UserError(
            f"{path} is damaged ({one_line(e)}): run the sweep again to write it."
        ) from e


def _check_digest(content: JsonObject) -> None:
    """Check the digest of a study.json. Only a file of version 1 may lack it.

    Raises:
      ValueError: the content changed after it was written.
    """
    is_older = "schema_version" not in content and "digest" not in content
    if not is_older and content.get("digest") != records.digest(content):
        raise ValueError("its content does not match its digest")


def _study(content: JsonObject) -> StudyFile:
    """Return the study of a JSON object.

    Raises:
      ValueError: a value is missing, or has another type.
    """
    entries = []
    for entry in _typed(content, "entries", list):
        if not isinstance(entry, dict):
            raise ValueError("an entry is not a JSON object")
        entry_labels = {}
        for axis, label in _typed(entry, "labels", dict).items():
            if not isinstance(label, str):
                raise ValueError("a label is not a text")
            entry_labels[_NEW_AXES.get(axis, axis)] = label
        entries.append((entry_labels, files.plain_name(_typed(entry, "run_id", str), "a run")))
    if not entries:
        raise ValueError("it names no run")
    analysis = _typed(content, "analysis", dict) if "analysis" in content else {}
    name = _typed(content, "name", str)
    if "/" in name:  # `publish` names a folder after it
        raise ValueError("its name is a path")
    files.plain_name(name, "a study")
    if texts.printable_values(content) != plain(content):  # with lists, as JSON gives them back
        raise ValueError("a text in it has a control character")
    return StudyFile(name, entries, _with_new_names(analysis))


def _typed(values: JsonObject, key: str, kind: type) -> Any:
    """Return the value of a key, if it has the type.

    Raises:
      ValueError: it is missing, or has another type.
    """
    if key not in values:
        raise ValueError(f"it has no key {key!r}")
    if not isinstance(values[key], kind):
        raise ValueError(f"its {key} has the wrong type")
    return values[key]


def _with_new_names(analysis: JsonObject) -> dict[str, object]:
    """Return an analysis spec of any version with the key and the metrics of this version."""
    upgraded_spec = {_NEW_KEYS.get(key, key): value for key, value in analysis.items()}
    tables = upgraded_spec.get("tables")
    if isinstance(tables, list):
        upgraded_spec["tables"] = [_table_with_new_names(table) for table in tables]
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
