"""The rows of a record: measurements at evaluation points, by one or more versions of the code.

A version is known by digests of the files of encodings, schemes and tasks. The provenance of a
record holds the digests at training. A row holds those that differ from them, so rows of several
code versions stay apart in one record.
"""

import json
from collections.abc import Collection
from typing import Any

from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import ChanceLevel, JsonObject, Record, RecordRow, Sources
from pe_lab.runs.system import texts

# What identifies the evaluation point of a row: split, length, offset and override as text. The
# rows of an attribute, which may be measured later than the others, have a key with its name.
PointKey = tuple[str, int, int, str, str | None]
# Fields of an evaluation override that change its numbers.
_IDENTIFYING = (
    "positions",
    "encodings",
    "task",
    "evaluated_task",
    "num_loops",
    "logit_temperature",
)


def row(
    split: str,
    length: int,
    offset: int,
    metric: str,
    value: object,
    count: int,
    reason: str | None = None,
    override: JsonObject | None = None,
    attribute: str | None = None,
) -> RecordRow:
    """Return one measurement.

    Args:
      split: "validation" or "test".
      length: of the task's examples, in the task's unit (symbols, bits).
      offset: added to every position.
      value: the measured number (a list of numbers for `first_error`), or None with a `reason`.
      count: number of examples.
      override: the evaluation override, `Override.to_dict` with "reveals_target_length"; None:
        evaluated as trained.
      attribute: of examples, by which it was measured; None: by none.
    """
    measurement: RecordRow = {
        "split": split,
        "length": length,
        "offset": offset,
        "override": override,
        "metric": metric,
        "value": value,
        "count": count,
        "reason": reason,
        "sources": None,
    }
    if attribute is not None:
        measurement["attribute"] = attribute
    return measurement


def point_key(row: RecordRow) -> PointKey:
    """Return the key of the evaluation point of a row."""
    return key(row["split"], row["length"], row["offset"], row["override"], row.get("attribute"))


def key(
    split: str, length: int, offset: int, override: JsonObject | None, attribute: str | None
) -> PointKey:
    """Return the key of an evaluation point. The label of an override is not part of it."""
    text = json.dumps(_identity(override), sort_keys=True)
    return split, length, offset, text, attribute


def _identity(override: JsonObject | None) -> JsonObject | None:
    """Return the fields of an evaluation override that change its numbers."""
    if override is None:
        return None
    return {key: value for key, value in override.items() if key in _IDENTIFYING}


def printable(row: JsonObject) -> JsonObject:
    """Return a row with printable texts, except for those that identify its evaluation override.

    They are compared with the override of a config, and no page shows them.
    """
    printed: dict[str, Any] = texts.printable_values(row)
    if identity := _identity(row["override"]):
        printed["override"] |= identity
    return printed


def check_label(record: Record, override: JsonObject) -> None:
    """Check that all rows with the label of an override were measured with this override.

    Tables read rows by the label.

    Raises:
      UserError: a row with the label has other settings.
    """
    for measurement in record["rows"]:
        other = measurement["override"]
        if other is None or other["label"] != override["label"]:
            continue
        if _identity(other) != _identity(override):
            raise UserError(
                f"The run {record['run_id']} was evaluated with another override that is called "
                f"{override['label']!r}: give this one another label."
            )


def measured_points(record: JsonObject, sources: Sources | None = None) -> dict[PointKey, int]:
    """Return the number of examples of each evaluation point that a record has.

    It is 0 where no number is defined.

    Args:
      sources: read only the rows that these versions of the plugins measured.
    """
    rows = record["rows"]
    if sources is not None:
        rows = [row for row in rows if _agree(record, row, sources)]
    return {point_key(row): row["count"] for row in rows}


def preferred_rows(record: JsonObject) -> list[RecordRow]:
    """Return the rows of one code version for each evaluation point.

    The version is the known one, or else the last that measured the point.
    """
    if not any(row["sources"] for row in record["rows"]):
        return record["rows"]
    known = known_sources(record)
    by_point: dict[PointKey, list[RecordRow]] = {}
    for row in record["rows"]:
        by_point.setdefault(point_key(row), []).append(row)
    preferred = []
    for rows in by_point.values():
        of_known_code = [row for row in rows if _agree(record, row, known)]
        last = rows[-1]["sources"]
        preferred += of_known_code or [row for row in rows if row["sources"] == last]
    return preferred


def has_changed_rows(record: JsonObject) -> bool:
    """Return whether some of the preferred rows were measured with changed code."""
    if not any(row["sources"] for row in record["rows"]):
        return False
    known = known_sources(record)
    return not all(_agree(record, row, known) for row in preferred_rows(record))


def extended(
    record: Record, rows: list[RecordRow], chance_levels: Collection[ChanceLevel] = ()
) -> Record:
    """Return a record with more rows, and with the chance levels of lengths that are new.

    No row is ever overwritten: rows of a point that the same code has measured are left out.
    """
    measured: dict[str, dict[PointKey, int]] = {}  # by code version
    new_rows: list[RecordRow] = []
    for row in rows:
        version = json.dumps(row["sources"], sort_keys=True)
        if version not in measured:
            measured[version] = measured_points(record, row["sources"])
        if point_key(row) not in measured[version]:
            sources = _differing(record, row["sources"])
            new_rows.append({**row, "sources": sources})
    lengths = {level["length"] for level in record["chance_levels"]}
    new_levels = [level for level in chance_levels if level["length"] not in lengths]
    return {
        **record,
        "rows": record["rows"] + new_rows,
        "chance_levels": record["chance_levels"] + new_levels,
    }


def trained_sources(record: JsonObject) -> dict[str, str | None]:
    """Return the digests when the run was trained; empty if the record has none."""
    return dict(record["provenance"].get("sources") or {})


def known_sources(record: JsonObject) -> dict[str, str | None]:
    """Return the digests that a new row is compared with.

    A plugin that training used has the digest at training. Others have the digest of the first row
    that they measured.
    """
    digests = dict(trained_sources(record))
    for row in record["rows"]:
        for name, digest in (row["sources"] or {}).items():
            digests.setdefault(name, digest)
    return digests


def changed_sources(record: JsonObject, sources: Sources) -> list[str]:
    """Return the plugins of `sources` whose file differs from the one that the record knows."""
    before = known_sources(record)
    names = []
    for name, digest in sources.items():
        # A plugin that the record does not know has not changed.
        if before.get(name, digest) != digest:
            names.append(name)
    return sorted(names)


def _agree(record: JsonObject, row: JsonObject, sources: Sources) -> bool:
    """Return whether no plugin that measured a row is known to differ from `sources`."""
    of_row = row["sources"] or {}
    measured_sources = trained_sources(record) | of_row
    return all(measured_sources.get(name, digest) == digest for name, digest in sources.items())


def _differing(record: JsonObject, sources: Sources | None) -> dict[str, str | None] | None:
    """Return the part of `sources` that the provenance does not have; None if there is none."""
    if sources is None:
        return None
    before = trained_sources(record)
    new = {}
    for name, digest in sources.items():
        # A missing name differs from a name whose digest is None.
        if name not in before or before[name] != digest:
            new[name] = digest
    return new or None
