"""The text of a record: one line that begins with the digest of the rest.

    {"digest": "5f0c…", "chance_levels": [...], "checkpoint": ..., ..., "status": "finished"}

Keys are sorted, because the digest is computed from canonical JSON. A reader can therefore hash the
bytes instead of serializing the content again, which takes as long as reading it. `mistake` names a
value, such as one of a plugin, that JSON cannot hold.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping

from pe_lab.runs.records.record_schema import JsonObject, Record
from pe_lab.runs.system import files

KEYS = frozenset(Record.__annotations__)
_START = re.compile(rb'\{"digest": "([0-9a-f]{64})", ')
# The long lists of a record, and the keys that follow them.
_LISTS = ((b"curve", b"error"), (b"rows", b"run_id"))


def canonical(record: JsonObject) -> str:
    """Return the JSON of a record without its digest."""
    content = {key: value for key, value in record.items() if key != "digest"}
    return json.dumps(content, sort_keys=True, allow_nan=False)


def digest(record: JsonObject) -> str:
    """Return the sha256 of a record without its digest, as canonical JSON."""
    return hashlib.sha256(canonical(record).encode()).hexdigest()


def line(record: JsonObject) -> str:
    """Return the line of a record, with its digest."""
    content = canonical(record)
    digest_of_content = hashlib.sha256(content.encode()).hexdigest()
    return f'{{"digest": "{digest_of_content}", {content[1:]}\n'


def is_intact(text: bytes) -> bool:
    """Return whether a text is a line that did not change. False for a text of another form."""
    start = _START.match(text)
    if start is None:
        return False
    content = b"{" + text[start.end() :].removesuffix(b"\n")
    return hashlib.sha256(content).hexdigest().encode() == start[1]


def head(text: bytes) -> JsonObject:
    """Return the record of an intact line without its rows and its curve, which are most of it.

    They may be there nevertheless, if a setting of a plugin has the name of one of them.
    """
    cut = text
    for name, following in _LISTS:
        # No text inside of the line has such a key: its quotation marks have backslashes.
        start = cut.find(b', "%s": [' % name)
        end = cut.find(b', "%s": ' % following, start)
        cut = cut[:start] + cut[end:]
    try:
        record = files.object_of(cut)
    except ValueError:
        record = {}
    if record.keys() != KEYS - {"curve", "rows"}:
        return files.object_of(text)  # the list of a setting was cut in place of the record's
    return {**record, "curve": [], "rows": []}


def mistake(value: object) -> str | None:
    """Return the first part of a value that JSON cannot hold, in words; None if there is none."""
    path_and_reason = _first_mistake(value)
    if path_and_reason is None:
        return None
    path, reason = path_and_reason
    return f"its {path.removeprefix('.')} is {reason}" if path else f"it is {reason}"


def _first_mistake(value: object) -> tuple[str, str] | None:
    """Return the path and the reason of the first mistake."""
    if isinstance(value, str):
        return None if _is_unicode(value) else ("", f"{value!r}, which is not valid Unicode")
    if value is None or isinstance(value, bool | int):
        return None
    if isinstance(value, float):
        return None if math.isfinite(value) else ("", f"{value}, which is not finite")
    if isinstance(value, Mapping):
        parts = [(f".{key}", part) for key, part in value.items()]
    elif isinstance(value, list | tuple):
        parts = [(f"[{index}]", part) for index, part in enumerate(value)]
    else:
        return "", f"of the type {type(value).__name__}"
    for step, part in parts:
        if not _is_unicode(step):
            return "", f"an object with the key {step[1:]!r}, which is not valid Unicode"
        inner = _first_mistake(part)
        if inner is not None:
            return f"{step}{inner[0]}", inner[1]
    return None


def _is_unicode(text: str) -> bool:
    """Return whether a text has no lone surrogate, such as a byte of a path that is no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
