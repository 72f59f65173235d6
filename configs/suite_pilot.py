"""At which budget is each task of the standard suite solved, and by which of four encodings?

    pe-lab sweep configs/suite_pilot.py

Eight candidate tasks with one learning rate and one seed, trained for longer than in the suite: 32
runs, about 15 minutes on two cores. docs/suite.md says how the curves fix the budgets.
"""

import dataclasses

from pe_lab.runs import grid
from pe_lab.studies import suite

STEPS = 4000
ENCODINGS = ("rope", "shaw", "alibi", "nope")
NOT_IN_THE_SUITE = {
    "reverse": (dict(name="reverse", num_symbols=96, distinct=True), 16, STEPS),
    "majority": (dict(name="majority"), 16, STEPS),
}


def get_config():
    c = suite.get_config()
    c.train.learning_rate = 3e-3
    return c


def sweep():
    one_seed = dataclasses.replace(suite.FULL, seeds=1)
    encodings = [(dict(name=name),) for name in ENCODINGS]
    points = suite.points_of(encodings, suite.TASKS | NOT_IN_THE_SUITE, one_seed)
    return [_as_pilot(point) for point in points]


def _as_pilot(point):
    """Return a point with the steps of the pilot, tested at two and four times the length."""
    max_length = point["train.max_length"].value
    lengths = (max_length, 2 * max_length, 4 * max_length)
    return {
        **point,
        "train.steps": grid.labelled("", STEPS),
        "evaluate.lengths": grid.labelled("", lengths),
    }


def analysis():
    by_task = dict(rows="task", columns="model.encodings")
    at_twice, at_four_times = dict(name="exact_match", at=2), dict(name="exact_match", at=4)
    return dict(
        question="At which budget is each task of the standard suite solved?",
        tables=(
            dict(by_task, title="Steps to solve", metric="steps_to_solve"),
            dict(by_task, title="At the training length", metric=dict(name="exact_match", at=1)),
            dict(by_task, title="At twice the training length", metric=at_twice),
            dict(by_task, title="At four times the training length", metric=at_four_times),
        ),
    )
