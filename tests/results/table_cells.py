"""Studies of few runs, and their tables as texts."""

import csv
import io

from pe_lab.results import frame, tables
from tests.results.fake_study import point, write_study


def cells(table):
    """A table as lists of its texts, the header first."""
    return [list(table.header), *([c.text for c in row] for row in table.rows)]


def as_dicts(found):
    return list(csv.DictReader(io.StringIO(tables.as_csv(found))))


def study(tmp_path, *made):
    return frame.read(write_study(tmp_path, *((point(f"e{i}", 0), r) for i, r in enumerate(made))))
