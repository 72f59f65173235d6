"""How many seeds solve the suite's recall with its first budget, and how many with the larger one?

    pe-lab sweep configs/suite_recall.py

The encodings of the suite (pe_lab/studies/suite.py) with both budgets and its tuning: 196 runs.
Half of them, with the larger budget, are the suite's own. docs/suite.md says why it was raised.
"""

from pe_lab.runs import grid
from pe_lab.studies import suite

FIRST_STEPS = 4250
STEPS = suite.TASKS["recall"][2]

tune = suite.tune


def get_config():
    return suite.get_config()


def sweep():
    encodings = [(dict(name=name),) for name in suite.ENCODINGS]
    points = suite.points(encodings, names=["recall"])
    budgets = [grid.labelled(f"{steps:,} steps", steps) for steps in (FIRST_STEPS, STEPS)]
    return [_with_budget(point, budget) for budget in budgets for point in points]


def _with_budget(point, budget):
    return {**point, "task": grid.labelled("", point["task"].value), "train.steps": budget}


def analysis():
    by_budget = dict(rows="model.encodings", columns="train.steps")
    at_twice = dict(name="exact_match", at=2, show="iqm")
    return dict(
        question="How many seeds solve the suite's recall with each of two budgets?",
        tables=(
            dict(by_budget, title="Solved seeds", metric="solved"),
            dict(by_budget, title="At twice the training length", metric=at_twice),
        ),
    )
