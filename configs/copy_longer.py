"""Are the variants that copy_baselines does not solve from all seeds solved with more steps?

    pe-lab sweep configs/copy_longer.py

Three variants, three budgets and ten seeds, with the learning rates that copy_baselines chose: 90
runs. The third with the smallest budget are runs of configs/copy_baselines.py too.
"""

from configs import copy_baselines
from pe_lab.runs import grid

STEPS = (6000, 12_000, 24_000)
VARIANTS = (  # encoding, position scheme, learning rate
    ("nope", dict(name="contiguous"), 6e-3),
    ("fox", dict(name="contiguous"), 1e-3),
    ("rope", dict(name="randomized", maximum=2 * copy_baselines.TESTED), 1e-3),
)


def get_config():
    return copy_baselines.get_config()


def sweep():
    points = []
    for encoding, scheme, rate in VARIANTS:
        label = "" if scheme["name"] == "contiguous" else scheme["name"]
        points += grid.product(
            {
                "model.encodings": [(dict(name=encoding),)],
                "positions": [grid.labelled(label, scheme)],
                "train.learning_rate": [grid.labelled("", rate)],
            },
            {"train.steps": [grid.labelled(f"{steps:,} steps", steps) for steps in STEPS]},
            {"seed": range(10)},
        )
    return points


def analysis():
    by_budget = dict(rows=("model.encodings", "positions"), columns="train.steps")
    return dict(
        question="Are nope, fox and rope with randomized positions solved with more steps?",
        tables=(
            dict(by_budget, title="Solved seeds", metric="solved"),
            dict(by_budget, title="At twice the length", metric=dict(name="exact_match", at=2)),
        ),
    )
