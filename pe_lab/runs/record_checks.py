"""The form of a record that was read: wrong types are damage, and no traceback of a table.

The digest of a record guards against accidents. These checks find a record that another program
wrote with a right digest, as far as readers would fail at it.
"""

import math
from typing import Any

from pe_lab.runs.record_schema import JsonObject, RecordRow

STATUSES = ("finished", "diverged", "failed")
_OBJECTS = ("config", "member", "provenance")
_OBJECTS_OR_NONE = ("cost", "exposure", "scale_ratio", "checkpoint")
_LISTS = ("rows", "chance_levels", "curve")
_ROW_KEYS = RecordRow.__required_keys__
_SHARES = ("exact_match", "token_accuracy")  # metrics from 0 to 1


def mistake(record: JsonObject) -> str | None:
    """Return why a record has another form than a reader expects; None if it has this form."""
    if record["status"] not in STATUSES:
        return f"its status is {record['status']!r}"
    for key in (*_OBJECTS, *_OBJECTS_OR_NONE):
        may_be_none = key in _OBJECTS_OR_NONE and record[key] is None
        if not isinstance(record[key], dict) and not may_be_none:
            return f"its {key} is not a JSON object"
    if not record["config"]:
        return "its config is empty"
    for key in _LISTS:
        entries = record[key]
        if not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
            return f"its {key} are not a list of JSON objects"
    for row in record["rows"]:
        if reason := _mistake_in_row(row):
            return reason
    return None


def _mistake_in_row(row: JsonObject) -> str | None:
    # A large study has millions of rows, so nothing is built for a good one.
    if not row.keys() >= _ROW_KEYS:
        missing = _ROW_KEYS - row.keys()
        return f"a row should have the key {min(missing)!r}"
    value = row["value"]
    if value is None or isinstance(value, list):
        return None
    if not _is_number(value):
        return f"the value of a row is {value!r}"
    if row["metric"] in _SHARES and not 0 <= value <= 1:
        return f"the {row['metric']} of a row is {value!r}"
    return None


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and math.isfinite(value)
