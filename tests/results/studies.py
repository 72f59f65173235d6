"""Studies of few records, and their tables as texts."""

import csv
import io

from pe_lab.results import declared_tables, frame, selection, tables
from pe_lab.results.read_analysis_spec import from_dict
from tests.results.fake_study import point, write_study


def study(folder, *entries, **analysis):
    """A study of entries (labels, record), or of one record each of variants e0, e1, …"""
    labeled = []
    for index, entry in enumerate(entries):
        is_labeled = isinstance(entry, tuple)
        labeled.append(entry if is_labeled else (point(f"e{index}", 0), entry))
    return frame.read(write_study(folder, *labeled, analysis=analysis))


def cells(table):
    """A table as lists of its texts, the header first."""
    return [list(table.header), *([cell.text for cell in row] for row in table.rows)]


def as_dicts(study):
    """The rows of table.csv."""
    return list(csv.DictReader(io.StringIO(tables.as_csv(study))))


def declared(study, *, oracle="", **table):
    """The tables of one table of an analysis spec."""
    (spec,) = from_dict({"tables": [table], "oracle": oracle}).tables
    return declared_tables.tables(selection.choose(study), spec)


def declared_cells(study, **table):
    """The tables of one table of an analysis spec, as texts by title."""
    return {each.title: cells(each) for each in declared(study, **table)}
