"""One number of a record, for tests."""

from pe_lab.runs.record_rows import preferred_rows


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
