"""At which budget is each task of the standard suite solved, and by which of four encodings?

    python -m experiments.sweep --config=configs/suite_pilot.py

The tasks of configs/suite.py with one learning rate and one seed, trained for longer than in the
suite: 32 runs, about 12 minutes on two cores. docs/suite.md says how the curves fix the budgets.
"""

import dataclasses

from configs import suite
from pe_lab.runs import grid

STEPS = 4000
ENCODINGS = ("rope", "shaw", "alibi", "nope")


def get_config():
    c = suite.get_config()
    c.train.learning_rate = 3e-3
    return c


def sweep():
    one_seed = dataclasses.replace(suite.FULL, seeds=1)
    points = suite.points([(dict(name=name),) for name in ENCODINGS], one_seed)
    return [{**point, "train.steps": grid.labelled("", STEPS)} for point in points]
