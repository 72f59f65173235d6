"""Runs from pe_lab/studies/base.py with changes."""

from pe_lab.runs import config
from pe_lab.studies import base


def values(**changes):
    """pe_lab/studies/base.py's values, with changes by path: train__steps=3."""
    found = base.get_config().to_dict()
    for path, value in changes.items():
        *parents, last = path.split("__")
        inner = found
        for key in parents:
            inner = inner[key]
        inner[last] = value
    return found


def run(**changes):
    return config.from_dict(values(**changes))


def encodings(*specs):
    return {"model__encodings": specs}


def changed(changes):
    return {"evaluate__overrides": changes}


SHIFTED = dict(name="shifted", max_shift=5)
PARENT = dict(study="exposure", run_id="0123456789abcdef")
