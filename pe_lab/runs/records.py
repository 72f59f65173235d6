"""What a run leaves behind: one JSON file, written whole or not at all.

Plain Python: trainers write records, analysis reads them, neither needs the other.

    record = {
      "schema_version": 6, "digest": ...,        # sha256 of everything else
      "run_id", "config", "replica",              # the config with all defaults resolved
      "status": "finished" | "diverged" | "failed", "error": null or one sentence,
      "rows": [row(...), ...], "floors": [...], "curve": [...],
      "cost", "exposure", "code_ratio", "checkpoint", "provenance"}
"""

import hashlib
import itertools
import json
import math
import os
import threading
from collections.abc import Collection, Container, Mapping
from pathlib import Path
from typing import Any

from pe_lab.runs import code_versions, older_records
from pe_lab.runs.code_versions import Sources
from pe_lab.runs.errors import UserError, one_line

SCHEMA_VERSION, _OLDEST = 6, 2
ROUNDING = 1e-9  # below a threshold: the mean of three times 0.99 is a little less than it
STATUSES = ("finished", "diverged", "failed")
_KEYS = {
    "schema_version",
    "digest",
    "run_id",
    "config",
    "replica",
    "status",
    "error",
    "rows",
    "floors",
    "curve",
    "cost",
    "exposure",
    "code_ratio",
    "checkpoint",
    "provenance",
}


class Damaged(UserError):  # noqa: N818
    """A file that is not what was written."""


def row(
    split: str,
    length: int,
    offset: int,
    metric: str,
    value: Any,
    count: int,
    reason: str | None = None,
    change: Any = None,
    sources: Sources | None = None,
) -> dict[str, Any]:
    """One measurement.

    Args:
      split: "validation" or "test".
      length: of the task's examples, in its own unit (symbols, bits).
      offset: added to every position.
      value: the measured number (a list of numbers for `first_error`), or None with a `reason`.
      count: examples that it rests on.
      change: what stood in place of what was trained, {"label", "positions", "encodings",
        "target_length_known"}; None: nothing.
      sources: digests of the plugins' files that measured it, by "encodings/rope"; a record holds
        those that differ from its provenance, and None if all are the same.
    """
    return {
        "split": split,
        "length": length,
        "offset": offset,
        "change": change,
        "metric": metric,
        "value": value,
        "count": count,
        "reason": reason,
        "sources": sources,
    }


def value(
    record: dict[str, Any],
    split: str,
    length: int,
    offset: int,
    metric: str,
    change: str | None = None,
) -> Any:
    """The value of one row, None where it is missing or null; of a change by its label."""
    for r in preferred_rows(record):
        found = (
            r["split"],
            r["length"],
            r["offset"],
            r["metric"],
            r["change"] and r["change"]["label"],
        )
        if found == (split, length, offset, metric, change):
            return r["value"]
    return None


def solved(exact_matches: Collection[float], threshold: float) -> bool:
    """Whether the mean over the validation lengths reaches the threshold: what "learnt" means,
    wherever it is said.
    """
    return (
        bool(exact_matches)
        and math.fsum(exact_matches) / len(exact_matches) >= threshold - ROUNDING
    )


Place = tuple[str, int, int, str]


def place_of(row: dict[str, Any]) -> Place:
    """What a row measured, whatever the metric: split, length, offset, and the change as text."""
    change = row["change"] and {k: row["change"][k] for k in ("positions", "encodings")}
    return row["split"], row["length"], row["offset"], json.dumps(change, sort_keys=True)


def places(record: dict[str, Any], sources: Sources | None = None) -> dict[Place, int]:
    """Every place that a record has measured -> the examples that it rests on; 0 where nothing
    could be measured.

    Args:
      sources: count only the rows that these versions of the plugins measured.
    """
    rows = record["rows"]
    if sources is not None:
        rows = [row for row in rows if code_versions.agree(record, row, sources)]
    return {place_of(row): row["count"] for row in rows}


def preferred_rows(record: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One code version's rows of every place: the known one's, or else those measured last."""
    if not any(row["sources"] for row in record["rows"]):
        return record["rows"]
    known = code_versions.known(record)
    by_place: dict[Place, list[dict[str, Any]]] = {}
    for row in record["rows"]:
        by_place.setdefault(place_of(row), []).append(row)
    preferred = []
    for rows in by_place.values():
        last = rows[-1]["sources"]
        of_known_code = [row for row in rows if code_versions.agree(record, row, known)]
        preferred += of_known_code or [row for row in rows if row["sources"] == last]
    return preferred


def has_changed_rows(record: Mapping[str, Any]) -> bool:
    """Whether some of the preferred rows were measured with changed code."""
    known = code_versions.known(record)
    return not all(code_versions.agree(record, row, known) for row in preferred_rows(record))


def extended(
    record: dict[str, Any], rows: list[dict[str, Any]], floors: Collection[dict[str, Any]] = ()
) -> dict[str, Any]:
    """A record with more rows, and the floors of lengths that are new.

    Raises:
      UserError: a place has been measured already; nothing is ever overwritten.
    """
    lengths = {f["length"] for f in record["floors"]}
    measured: dict[str, dict[Place, int]] = {}
    for new in rows:
        code = json.dumps(new["sources"], sort_keys=True)
        if code not in measured:
            measured[code] = places(record, new["sources"])
        if place_of(new) in measured[code]:
            raise clash(record, new)
    rows = [new | {"sources": code_versions.differing(record, new["sources"])} for new in rows]
    return record | {
        "rows": record["rows"] + rows,
        "floors": record["floors"] + [f for f in floors if f["length"] not in lengths],
    }


def clash(record: dict[str, Any], row: dict[str, Any]) -> UserError:
    """The sentence for a row that a record has already."""
    changed = "" if row["change"] is None else f" with {row['change']['label']}"
    where = f"{row['split']} length {row['length']} at offset {row['offset']}{changed}"
    count = places(record)[place_of(row)]
    return UserError(
        f"The run {record['run_id']} has measured {where} already, on {count} examples: nothing "
        f"is overwritten."
    )


def path_of(folder: Path, run_id: str) -> Path:
    return folder / "records" / f"{plain(run_id)}.json"


def plain(name: str) -> str:
    """A name that stays in its folder: it came from a file or a flag.

    Raises:
      UserError: it is a path.
    """
    if not name or name.startswith(".") or any(c in name for c in "/\\\0"):
        raise UserError(f"{name!r} is not the name of a run or a cell.")
    return name


def write(folder: Path, record: dict[str, Any]) -> Path:
    """Writes a record atomically into folder/records, with its digest."""
    record = {**record, "schema_version": SCHEMA_VERSION}
    record["digest"] = digest(record)
    assert record.keys() == _KEYS, (
        f"a record has the keys {sorted(_KEYS ^ record.keys())} too many or too few"
    )
    path = path_of(folder, record["run_id"])
    write_json(path, record)
    return path


def read(path: Path) -> dict[str, Any]:
    """Reads one record and checks that it is the one that was written; an older one as this version
    would have said it.

    Raises:
      Damaged: the file is not what was written.
      UserError: it is of another version.
    """
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        version, sound = record["schema_version"], record["digest"] == digest(record)
    except KeyError as e:
        raise _damaged(path, f"it has no key {e}") from e
    except (OSError, ValueError, TypeError) as e:
        raise _damaged(path, one_line(e)) from e
    if version not in range(_OLDEST, SCHEMA_VERSION + 1):
        raise UserError(
            f"{path} has schema_version {version}; this pe_lab reads {_OLDEST} to {SCHEMA_VERSION}."
        )
    if not sound:
        raise _damaged(path, "its content does not match its digest")
    if wrong := record.keys() ^ _KEYS:
        raise _damaged(
            path, f"it should {'' if wrong & _KEYS else 'not '}have the key {min(wrong)!r}"
        )
    if version == SCHEMA_VERSION:
        return record
    record = {**older_records.upgrade(record), "schema_version": SCHEMA_VERSION}
    return {**record, "digest": digest(record)}


def read_all(folder: Path, without: Container[Path] = ()) -> dict[str, dict[str, Any]]:
    """All records of a study's folder by run_id, but for some files."""
    return {path.stem: _read_own(path) for path in _files(folder) if path not in without}


def damaged(folder: Path) -> dict[Path, str]:
    """The records of a study's folder that cannot be read -> a sentence.

    Raises:
      UserError: one is of another version; that is not damage.
    """
    found = {}
    for path in _files(folder):
        try:
            _read_own(path)
        except Damaged as e:
            found[path] = str(e)
    return found


def _files(folder: Path) -> list[Path]:
    return sorted((folder / "records").glob("*.json"))


def _read_own(path: Path) -> dict[str, Any]:
    """A record that is named after its run."""
    record = read(path)
    if record["run_id"] != path.stem:
        raise _damaged(path, f"it holds the run {record['run_id']}")
    return record


def set_aside(path: Path) -> Path:
    """Renames a damaged file, so that it is read no more and nothing of it is lost."""
    aside = next(
        p
        for i in itertools.count(1)
        if not (p := path.with_name(f"{path.name}.damaged-{i}")).exists()
    )
    return path.rename(aside)


def digest(record: dict[str, Any]) -> str:
    """sha256 of the record without its digest, as canonical JSON."""
    content = {k: v for k, v in record.items() if k != "digest"}
    return hashlib.sha256(json.dumps(content, sort_keys=True, allow_nan=False).encode()).hexdigest()


def write_json(path: Path, content: Any) -> None:
    """Writes JSON so that a reader sees the old file or the new one, never a part. NaN is
    refused.
    """
    text = json.dumps(content, indent=1, allow_nan=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _damaged(path: Path, why: str) -> Damaged:
    return Damaged(
        f"The record {path} is damaged ({why}). The next sweep sets it aside and runs it again."
    )
