"""Parts of records that tests compare."""

from pe_lab.runs.records import records
from pe_lab.runs.records.record_rows import preferred_rows

_MEASURED = (
    *("run_id", "config", "status", "error", "rows", "chance_levels", "curve", "exposure"),
    *("scale_ratio", "checkpoint"),
)


def value(record, split, length, offset, metric, override=None):
    """Return the value of one row; None if it is missing or null.

    Args:
      override: label of the evaluation override.
    """
    for row in preferred_rows(record):
        label = None if row["override"] is None else row["override"]["label"]
        point = (row["split"], row["length"], row["offset"], row["metric"], label)
        if point == (split, length, offset, metric, override):
            return row["value"]
    return None


def measured(folder):
    """Return, by run id, all that does not depend on how the records of a folder came about."""
    contents = {}
    for run_id, record in records.read_all(folder).items():
        contents[run_id] = {key: record[key] for key in _MEASURED}
    return contents


def files(folder):
    """Return the content of each record file by name."""
    return {path.name: path.read_bytes() for path in (folder / "records").iterdir()}


def places_of(record):
    """The evaluation points of the rows: split, length, offset and label of the override."""
    return {
        (r["split"], r["length"], r["offset"], r["override"] and r["override"]["label"])
        for r in record["rows"]
    }
