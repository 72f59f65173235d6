"""The text of a record: one line that begins with the digest of the rest.

    {"digest": "5f0c…", "chance_levels": [...], "checkpoint": ..., ..., "status": "finished"}

Keys are sorted, because the digest is computed from canonical JSON. A reader can therefore hash the
bytes instead of serializing the content again, which takes as long as reading it.
"""

import hashlib
import json
import re

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
