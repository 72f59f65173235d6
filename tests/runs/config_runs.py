"""Runs from pe_lab/studies/base.py with changes."""

from pe_lab.runs import config
from pe_lab.studies import base


def values(**changes):
    """pe_lab/studies/base.py's values, with changes by path: train__steps=3."""
    return with_changes(base.get_config().to_dict(), changes)


def with_changes(values, changes):
    """Values of a config in which some are replaced, by their path."""
    for path, value in changes.items():
        *parents, last = path.split("__")
        inner = values
        for key in parents:
            inner = inner[key]
        inner[last] = value
    return values


def run(**changes):
    return config.from_dict(values(**changes))


def encodings(*specs):
    return {"model__encodings": specs}


SHIFTED = dict(name="shifted", max_shift=5)
PARENT = dict(study="exposure", run_id="0123456789abcdef")
