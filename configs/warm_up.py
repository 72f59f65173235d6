"""Does the warm-up decide how far an encoding copies? Three warm-ups, four encodings, two rates.

    pe-lab sweep configs/warm_up.py
    pe-lab sweep configs/warm_up.py:smoke  # a small form

Copy of up to 16 distinct symbols, as in suite_grid, whose runs warm up for 100 steps of 3,750. Here
they warm up for 50, 400 and 1,000 steps. The rates are the two upper ones of suite_grid. Six
seeds: 144 runs of about 95 seconds of one core.

Declared before the runs, for each encoding, at twice the training length and at every rate on its
own: 1,000 steps - 50 steps, and 400 steps - 50 steps. An encoding depends on the warm-up if the
interval of 1,000 - 50 steps excludes 0 at both rates, with the same sign. It does not depend on it
if both intervals lie within 0.1 of 0, and at no rate both means are below 0.05 or above 0.95.
Everything else is undecided (`python -m experiments.declared warm_up FOLDER`). The condition about
the means was added before the first run: two warm-ups with which nothing is copied show no absence
of an effect.
"""

from pe_lab.runs import grid
from pe_lab.studies import suite_grid

FORMS = ("smoke",)

WARM_UPS = (50, 400, 1000)
RATES: tuple[float, ...] = suite_grid.RATES[2:]
SEEDS = 6
ENCODINGS = ("kerple", "fire", "alibi", "shaw")
MARGIN = 0.1  # the largest difference that is none; speedruns.shared_end has the ends


def get_config(form=""):
    return suite_grid.get_config(form)


def sweep(form=""):
    encodings = [(dict(name=name),) for name in ENCODINGS]
    task, longest, steps = suite_grid.TASKS["copy"]
    warm_ups = [grid.labelled(label(steps), steps) for steps in WARM_UPS]
    rates, seeds = RATES, range(SEEDS)
    if form == "smoke":
        longest, steps, encodings = 4, 12, encodings[:1]
        warm_ups = [grid.labelled(label(2), 2)]
        rates, seeds = rates[:1], range(1)
    return grid.product(
        {"model.encodings": encodings},
        {"train.warmup_steps": warm_ups},
        suite_grid.tasks({"copy": (task, longest, steps)}),
        {"train.learning_rate": rates},
        {"seed": seeds},
    )


def label(steps):
    return f"{steps} steps of warm-up"


def analysis(form=""):
    shortest, middle, longest = map(label, WARM_UPS)
    contrasts = ((longest, shortest), (middle, shortest))
    return dict(
        question="Does the warm-up decide how far an encoding copies?",
        contrasts=() if form == "smoke" else contrasts,
        tables=(
            dict(
                rows=("model.encodings", "train.learning_rate"),
                columns="train.warmup_steps",
                title="At twice the training length",
                metric=dict(name="exact_match", at=2, show="mean"),
            ),
        ),
    )
