"""The record of a run: one JSON file, written completely or not at all.

A published study has its records in one compressed file, ARCHIVE, with one record per line. Every
reader here accepts both. `python -m json.tool` prints the one line of a file with indents.

    record = {
      "schema_version": 8, "digest": ...,        # sha256 of everything else
      "run_id", "config", "member",              # the config with all defaults resolved
      "status": "finished" | "diverged" | "failed", "error": null or one sentence,
      "rows": [record_rows.row(...), ...], "chance_levels": [...], "curve": [...],
      "cost", "exposure", "scale_ratio", "checkpoint", "provenance"}

Training writes records and the analysis reads them. Neither needs the other.
"""

import gzip
import itertools
import json
import math
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import cast

from pe_lab.runs.errors import UserError, described, one_line
from pe_lab.runs.records import older_records, record_checks, record_lines, record_rows
from pe_lab.runs.records.record_lines import KEYS, digest
from pe_lab.runs.records.record_schema import JsonObject, Record
from pe_lab.runs.system import files, texts

ARCHIVE = "records.jsonl.gz"
SCHEMA_VERSION, _OLDEST = 8, 6
# Subtracted from thresholds, because the floating-point mean of three times 0.99 is below 0.99.
ROUNDING = 1e-9


class DamagedRecord(UserError):  # noqa: N818
    """A file whose content changed after it was written."""

    def __init__(self, path: Path, reason: str):
        self.reason = reason
        if path.name == ARCHIVE:
            sentence = f"The records {path} are damaged ({reason}). Restore the file."
        else:
            sentence = (
                f"The record {path} is damaged ({reason}). The next sweep sets it aside and trains "
                f"what is missing."
            )
        super().__init__(sentence)


def solved(exact_matches: Collection[float], threshold: float) -> bool:
    """Return whether the mean over the validation lengths reaches the threshold.

    This is the only definition of a solved run.
    """
    if not exact_matches:
        return False
    mean = math.fsum(exact_matches) / len(exact_matches)
    return mean >= threshold - ROUNDING


def path_of(folder: Path, run_id: str) -> Path:
    """Return the path of a run's record in the folder of a study."""
    return folder / "records" / f"{files.plain_name(run_id, 'a run')}.json"


def write(folder: Path, record: JsonObject) -> Path:
    """Write a record atomically into folder/records, with its digest.

    Raises:
      UserError: `read` would refuse the record, because a plugin's value or text is in it.
    """
    complete = {**record, "schema_version": SCHEMA_VERSION}
    keys = complete.keys() | {"digest"}
    assert keys == KEYS, f"a record has the keys {sorted(KEYS ^ keys)} too many or too few"
    run_id = complete["run_id"]
    path = path_of(folder, run_id)
    if reason := record_lines.mistake(complete):
        raise UserError(f"The record of the run {run_id} cannot be written: {reason}.")
    content = record_lines.line(complete).encode()
    try:
        _from_text(content, path)  # as a reader will: no file may have what it would refuse
    except DamagedRecord as e:
        raise UserError(f"The record of the run {run_id} cannot be written: {e.reason}.") from e
    files.write_bytes(path, content)
    return path


def read(path: Path) -> Record:
    """Read a record and check that its content did not change.

    A record of an older version is returned as this version would have written it.

    Raises:
      DamagedRecord: the file changed after it was written, or is no record.
      UserError: it is of another version, it has a removed setting, or the machine cannot read it.
    """
    return _from_text(_content(path), path)


def _read_named(path: Path, *, only_head: bool) -> Record:
    """Read a record whose file must have the name of its run."""
    record = _from_text(_content(path), path, only_head=only_head)
    if record["run_id"] != path.stem:
        raise DamagedRecord(path, f"it holds the run {record['run_id']}")
    return record


def _content(path: Path) -> bytes:
    """Return the content of the file of a record."""
    try:
        return files.read_bytes(path)
    except (FileNotFoundError, ValueError) as e:
        raise DamagedRecord(path, one_line(e)) from e
    except OSError as e:  # too many open files, perhaps: this is no damage
        raise UserError(f"{path} cannot be read ({one_line(e)}).") from e


def _from_text(text: bytes, path: Path, *, only_head: bool = False) -> Record:
    """Return the record of a JSON text that was read from a path."""
    is_line = record_lines.is_intact(text)
    try:
        record = record_lines.head(text) if only_head and is_line else files.object_of(text)
        version = record["schema_version"]
        # A text in another form, such as one with indents, has the digest of its canonical JSON.
        is_intact = is_line or record["digest"] == digest(record)
    except KeyError as e:
        raise DamagedRecord(path, f"it has no key {e}") from e
    except (ValueError, TypeError) as e:
        raise DamagedRecord(path, one_line(e)) from e
    if version not in range(_OLDEST, SCHEMA_VERSION + 1):
        others = ", and pe_lab 0.1.0 reads 2 to 8" if version in range(2, _OLDEST) else ""
        raise UserError(
            f"{path} has schema_version {version!r}; this pe_lab reads {_OLDEST} to "
            f"{SCHEMA_VERSION}{others}."
        )
    if not is_intact:
        raise DamagedRecord(path, "its content does not match its digest")
    missing, unknown = KEYS - record.keys(), record.keys() - KEYS
    if missing:
        raise DamagedRecord(path, f"it should have the key {min(missing)!r}")
    if unknown:
        raise DamagedRecord(path, f"it should not have the key {min(unknown)!r}")
    if version < SCHEMA_VERSION:
        try:
            record = older_records.upgrade(record)
        except (AttributeError, KeyError, TypeError) as e:
            raise DamagedRecord(path, described(e)) from e
        record["schema_version"] = SCHEMA_VERSION
        record["digest"] = digest(record)
    if reason := record_checks.mistake(record):
        raise DamagedRecord(path, reason)
    # Errors and words reach terminals and pages. The config stays, because it is trained again.
    if b"\\" in text or not text.isascii():
        rows = list(map(record_rows.printable, record["rows"]))
        exact = {"config": record["config"], "rows": rows}
        record = {**texts.printable_values({**record, **dict.fromkeys(exact)}), **exact}
    # A record may lack newer settings or have removed ones. Its digest is still the file's.
    config = older_records.with_current_settings(record["config"], path)
    return cast(Record, {**record, "config": config})


def read_all(folder: Path) -> dict[str, Record]:
    """Return the records of a study's folder by run id; errors as for `each`."""
    return {record["run_id"]: record for record in each(folder)}


def read_intact(folder: Path) -> tuple[dict[str, Record], dict[Path, str]]:
    """Return the intact records of a folder by run id, and a sentence for each damaged file.

    Raises:
      UserError: the archive is damaged, or a record is of another version.
    """
    damaged: dict[Path, str] = {}
    by_id = {record["run_id"]: record for record in each(folder, damaged)}
    return by_id, damaged


def each(
    folder: Path, damaged: dict[Path, str] | None = None, *, only_heads: bool = False
) -> Iterator[Record]:
    """Yield the records of a study's folder, one at a time, so that memory holds one of them.

    A record with a file of its own replaces the record of this run in the archive.

    Args:
      damaged: gets a sentence for each damaged file; None: the first one is an error.
      only_heads: rows and curve, which are most of a record, may be left empty.

    Raises:
      UserError: the archive or, without `damaged`, a file is damaged; or another version.
    """
    try:
        file_names = files.names_in(folder / "records")
    except OSError as e:
        raise UserError(f"{folder / 'records'} cannot be read ({one_line(e)}).") from e
    names = (name for name in file_names if name.endswith(".json"))
    # The name of a hidden file, such as those that macOS adds to a copy, is no run id.
    paths = [folder / "records" / name for name in names if not name.startswith(".")]
    # The archive's record of a run may be older than its file, even if the file is damaged.
    replaced = {path.stem for path in paths}
    for record in read_archive(folder, only_heads=only_heads):
        if record["run_id"] not in replaced:
            yield record
    for path in paths:
        try:
            record = _read_named(path, only_head=only_heads)
        except DamagedRecord as e:
            if damaged is None:
                raise
            damaged[path] = str(e)
        else:
            yield record


def read_run(folder: Path, run_id: str) -> Record | None:
    """Return the record of one run in a study's folder; None if there is none."""
    path = path_of(folder, run_id)
    if path.exists():
        return read(path)
    # To the end of the archive, which may name the run twice.
    archived = [record for record in read_archive(folder) if record["run_id"] == run_id]
    return archived[0] if archived else None


def exist(folder: Path) -> bool:
    """Return whether a study's folder has records."""
    return (folder / "records").is_dir() or (folder / ARCHIVE).exists()


def write_archive(folder: Path, records: Iterable[JsonObject | Record]) -> Path:
    """Write records into one compressed file atomically."""
    path = folder / ARCHIVE
    files.write_bytes(path, archive(records))
    return path


def archive(records: Iterable[JsonObject | Record]) -> bytes:
    """Return the content of a file with all records, sorted by run id.

    The same records give the same bytes: the file holds no time and no name.
    """
    ordered = sorted(records, key=lambda record: record["run_id"])
    content = "".join(map(record_lines.line, ordered)).encode()
    return gzip.compress(content, compresslevel=9, mtime=0)


def read_archive(folder: Path, *, only_heads: bool = False) -> Iterator[Record]:
    """Yield the records of the archive in a study's folder; none if there is no archive.

    Raises:
      UserError: it is damaged, has two records of a run, or the machine cannot read it.
    """
    path = folder / ARCHIVE
    if not path.exists():
        return
    run_ids: set[str] = set()
    try:
        for line in files.compressed_lines(path):
            record = _from_text(line, path, only_head=only_heads)
            # `cat` of two gzip files gives a valid one, in which each run would count twice.
            if record["run_id"] in run_ids:
                raise DamagedRecord(path, f"it has two records of the run {record['run_id']}")
            run_ids.add(record["run_id"])
            yield record
    except UserError:
        raise
    except ValueError as e:
        raise DamagedRecord(path, one_line(e)) from e
    except OSError as e:
        raise UserError(f"{path} cannot be read ({one_line(e)}).") from e
    if not run_ids:  # also of a file of 0 bytes, which gzip reads without complaint
        raise DamagedRecord(path, "it is empty")


def set_aside(path: Path) -> Path:
    """Rename a damaged file, so that it is no longer read and its content is kept."""
    for number in itertools.count(1):  # a file that was set aside before is kept, too
        target = path.with_name(f"{path.name}.damaged-{number}")
        if not target.exists():
            break
    return path.rename(target)


def write_json(path: Path, content: object) -> None:
    """Write JSON atomically: a reader sees the old file or the new one, never a part.

    Raises:
      UserError: JSON cannot hold a part of it, such as a number that is not finite.
    """
    if reason := record_lines.mistake(content):
        raise UserError(f"{path} cannot be written: {reason}.")
    text = json.dumps(content, indent=1, allow_nan=False)
    files.write_text(path, text + "\n")
