"""The form of a record that was read: wrong types are damage, and no traceback of a table.

The digest of a record guards against accidents. These checks find a record that another program
wrote with a right digest, as far as readers would fail at it.
"""

import math
from collections.abc import Callable, Hashable, Iterable
from operator import itemgetter
from typing import Any

from pe_lab.runs.records import record_rows
from pe_lab.runs.records.record_schema import JsonObject, RecordRow

STATUSES = ("finished", "diverged", "failed")
_OBJECTS = ("config", "member", "provenance")
_OBJECTS_OR_NONE = ("cost", "exposure", "scale_ratio", "checkpoint")
_LISTS = ("rows", "chance_levels", "curve")
_ROW_KEYS = RecordRow.__required_keys__
_TYPED_KEYS = ("split", "length", "offset", "metric", "count")
_TYPES = [str, int, int, str, int]
_TYPED_VALUES = itemgetter(*_TYPED_KEYS)
_POINT = itemgetter("split", "length", "offset", "metric")
_SHARES = ("exact_match", "token_accuracy")  # metrics from 0 to 1


def mistake(record: JsonObject) -> str | None:
    """Return why a record has another form than a reader expects; None if it has this form."""
    if record["status"] not in STATUSES:
        return f"its status is {record['status']!r}"
    for key in (*_OBJECTS, *_OBJECTS_OR_NONE):
        may_be_none = key in _OBJECTS_OR_NONE and record[key] is None
        if not isinstance(record[key], dict) and not may_be_none:
            return f"its {key} is not a JSON object"
    sources = record["provenance"].get("sources")
    if sources is not None and not _has_digests(sources):
        return "the sources of its provenance are not digests by the name of a plugin"
    if reason := _mistake_in_processes(record["provenance"]):
        return reason
    if not record["config"]:
        return "its config is empty"
    for key in _LISTS:
        if not _are_objects(record[key]):
            return f"its {key} are not a list of JSON objects"
    for row in record["rows"]:
        if reason := _mistake_in_row(row):
            return reason
    return _repetition(record)


def _mistake_in_processes(provenance: JsonObject) -> str | None:
    if not isinstance(provenance.get("jax_settings", {}), dict):
        return "the jax_settings of its provenance are not a JSON object"
    for key in ("resumed", "evaluated"):
        if not _are_objects(provenance.get(key, [])):
            return f"the {key} of its provenance is not a list of JSON objects"
    return None


def _are_objects(entries: object) -> bool:
    return isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)


def _mistake_in_row(row: JsonObject) -> str | None:
    # A large study has millions of rows, so nothing is built for a good one.
    if not row.keys() >= _ROW_KEYS:
        missing = _ROW_KEYS - row.keys()
        return f"a row should have the key {min(missing)!r}"
    # The exact types, because True is an instance of int.
    if list(map(type, _TYPED_VALUES(row))) != _TYPES:
        pairs = zip(_TYPED_KEYS, _TYPES, strict=True)
        key = next(key for key, wanted in pairs if type(row[key]) is not wanted)
        return f"the {key} of a row is {row[key]!r}"
    override = row["override"]
    if override is not None and not _has_label(override):
        return f"the override of a row is {override!r}"
    if row["sources"] is not None and not isinstance(row["sources"], dict):
        return f"the sources of a row are {row['sources']!r}"
    value = row["value"]
    if not is_measured(value):
        return f"the value of a row is {value!r}"
    is_share = row["metric"] in _SHARES and value is not None
    if is_share and (isinstance(value, list) or not 0 <= value <= 1):
        return f"the {row['metric']} of a row is {value!r}"
    return None


def _has_digests(sources: object) -> bool:
    if not isinstance(sources, dict):
        return False
    return all(digest is None or isinstance(digest, str) for digest in sources.values())


def _has_label(override: object) -> bool:
    return isinstance(override, dict) and isinstance(override.get("label"), str)


def is_measured(value: Any) -> bool:
    """Return whether a row may have a value: a finite number, None, or a list of them."""
    kind = type(value)
    if kind is float:
        return math.isfinite(value)
    return value is None or kind is int or (kind is list and all(map(is_measured, value)))


def _repetition(record: JsonObject) -> str | None:
    """Return what a record has twice, which tables would count twice; None if there is nothing.

    Rows of one point by several versions of the code are no repetition, because tables read those
    of one version.
    """
    # Tables read the rows of an override by its label.
    row = _repeated(record_rows.preferred_rows(record), _identity_of_row)
    if row is not None:
        return f"it has two rows for {row['metric']} at {row['split']} length {row['length']}"
    level = _repeated(record["chance_levels"], lambda level: str(level.get("length")))
    if level is not None:
        return f"it has two chance levels for length {level.get('length')}"
    point = _repeated(record["curve"], lambda point: str(point.get("step")))
    return None if point is None else f"its curve has two points at step {point.get('step')}"


def _identity_of_row(row: JsonObject) -> Hashable:
    point: Hashable = _POINT(row)
    override, attribute = row["override"], row.get("attribute")
    if override is None and attribute is None:
        return point
    return point, None if override is None else override["label"], str(attribute)


def _repeated(
    entries: Iterable[JsonObject], identity: Callable[[JsonObject], Hashable]
) -> JsonObject | None:
    """Return the first entry with the identity of an earlier one."""
    earlier = set()
    for entry in entries:
        key = identity(entry)
        if key in earlier:
            return entry
        earlier.add(key)
    return None
