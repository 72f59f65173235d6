"""Tables that a study declares."""

from pe_lab.results import declared_tables, frame, selection
from pe_lab.results.read_analysis_spec import from_dict


def made(folder, **asked):
    """The tables of a description, as title -> lists of texts, the header first."""
    found = selection.choose(frame.read(folder))
    return {
        t.title: [list(t.header), *([c.text for c in row] for row in t.rows)]
        for t in tables(found, **asked)
    }


def tables(found, **asked):
    source = {"oracle": asked.pop("oracle")} if "oracle" in asked else {}
    (description,) = from_dict({"tables": [asked], **source}).tables
    return declared_tables.tables(found, description)
