"""Do six more seeds change the upper tier of the suite? Six encodings, five tasks and two rates.

    pe-lab sweep configs/more_seeds.py
    pe-lab sweep configs/more_seeds.py:smoke  # a small form

The tasks, lengths, steps and the two upper rates of suite_grid, with the seeds 6 to 11. The
encodings are the six plain rows that solve at least four of the five tasks and have the largest
shares of solved runs that extrapolate to twice the training length, over all rates and the seeds 0
to 5: PaTH, Shaw, FIRE, ALiBi with learned slopes, KERPLE and FoX. 360 runs of about 95 seconds of
one core.

Declared before the runs, for each encoding: the share with the new seeds - the share with the seeds
0 to 5 at the same rates, with a bootstrap interval over seeds of both; and Kendall's tau between
the orders of the six shares. The encodings were chosen on the old seeds, so a slightly negative
difference is expected. The tier is called unchanged if no interval excludes 0 and tau is at least
0.6.
"""

from pe_lab.runs import grid
from pe_lab.studies import suite_grid

FORMS = ("smoke",)

NAMES = ("path", "shaw", "fire", "kerple", "fox")
SEEDS = range(suite_grid.SEEDS, 2 * suite_grid.SEEDS)
RATES = suite_grid.RATES[2:]


def get_config(form=""):
    return suite_grid.get_config(form)


def sweep(form=""):
    encodings = [(dict(name=name),) for name in NAMES] + [(dict(name="alibi", learn_slopes=True),)]
    if form == "smoke":
        steps = {name: (task, 4, 12) for name, (task, _, _) in list(suite_grid.TASKS.items())[:1]}
        row = {"model.encodings": encodings[-1:]}
        return grid.product(row, suite_grid.tasks(steps), {"seed": range(1)})
    points = []
    for name in list(suite_grid.TASKS)[:-1]:  # nothing extends addition to twice the length
        points += grid.product(
            {"model.encodings": encodings},
            suite_grid.tasks({name: suite_grid.TASKS[name]}),
            {"train.learning_rate": RATES},
            {"seed": SEEDS},
        )
    return points


def analysis():
    return dict(
        question="Do six more seeds change the upper tier of the suite?",
        tuned=("train.learning_rate",),
        tables=(
            dict(
                rows="model.encodings",
                columns="task",
                title="At twice the training length",
                metric=dict(name="exact_match", at=2, show="mean"),
            ),
        ),
    )
