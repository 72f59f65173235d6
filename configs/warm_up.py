"""Does the warm-up decide how far an encoding copies? Three warm-ups, four encodings, two rates.

    pe-lab sweep configs/warm_up.py
    pe-lab sweep configs/warm_up.py:smoke  # a small form

Copy of up to 16 distinct symbols, as in suite_grid, whose runs warm up for 100 steps of 3,750. Here
they warm up for 50, 400 and 1,000 steps. The rates are the two upper ones of suite_grid. Six
seeds: 144 runs of about 95 seconds of one core.

Declared before the runs, for each encoding, at twice the training length and at every rate on its
own: 1,000 steps - 50 steps, and 400 steps - 50 steps. An encoding depends on the warm-up if the
interval of 1,000 - 50 steps excludes 0 at both rates, with the same sign. It does not depend on it
if both intervals lie within 0.1 of 0. Everything else is undecided.
"""

from pe_lab.runs import grid
from pe_lab.studies import suite_grid

FORMS = ("smoke",)

WARM_UPS = (50, 400, 1000)
SEEDS = 6


def get_config(form=""):
    return suite_grid.get_config(form)


def sweep(form=""):
    encodings = [(dict(name=name),) for name in ("kerple", "fire", "alibi", "shaw")]
    task, longest, steps = suite_grid.TASKS["copy"]
    warm_ups = [grid.labelled(f"{steps} steps of warm-up", steps) for steps in WARM_UPS]
    rates, seeds = suite_grid.RATES[2:], range(SEEDS)
    if form == "smoke":
        longest, steps, encodings = 4, 12, encodings[:1]
        warm_ups = [grid.labelled("2 steps of warm-up", 2)]
        rates, seeds = rates[:1], range(1)
    return grid.product(
        {"model.encodings": encodings},
        {"train.warmup_steps": warm_ups},
        suite_grid.tasks({"copy": (task, longest, steps)}),
        {"train.learning_rate": rates},
        {"seed": seeds},
    )


def analysis(form=""):
    longest, shortest = f"{WARM_UPS[-1]} steps of warm-up", f"{WARM_UPS[0]} steps of warm-up"
    contrasts = ((longest, shortest), (f"{WARM_UPS[1]} steps of warm-up", shortest))
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
