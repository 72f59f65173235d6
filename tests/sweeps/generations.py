"""Studies with runs that start from their own runs."""

from pathlib import Path

from pe_lab.runs import grid
from pe_lab.sweeps import study
from tests import tiny

ROPE, ALIBI, LEARNED = (
    (dict(name="rope"),),
    (dict(name="alibi"),),
    (dict(name="learned", max_positions=64),),
)
FROM = [
    grid.labelled("", dict(select=dict(model=dict(encodings=name)))) for name in ("rope", "alibi")
]


def expand(points, folder=Path("nowhere"), **changes):
    return study.expand("fake", tiny.values(**changes), points, folder)


def named(points, label):
    """The points under one label more."""
    return grid.product(points, {"layout.end_token": [grid.labelled(label, True)]})
