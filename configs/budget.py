"""Does extrapolation rise or fall with the budget? Eight encodings, four rates and four budgets.

    pe-lab sweep configs/budget.py
    pe-lab sweep configs/budget.py:smoke  # a small form

Copy of up to 16 distinct symbols, as in suite_grid, for 1,875, 3,750, 7,500 and 15,000 steps, each
with its own warm-up and decay in proportion. The runs of 3,750 steps are runs of suite_grid: copy
its records into the study's folder, and they are not trained again. 512 runs, of which 384 are new:
an estimate of 13 hours of one core. Parameters are kept at every point of the curve.

Declared before the runs, for each encoding and rate, over the seeds that solve the training lengths
with both budgets:
- 15,000 steps - 3,750 steps, exact match at twice the training length. Verdict: it rises or falls
  if the interval excludes 0, it stays if the interval lies within the margin of 0.1, and the study
  is undecided otherwise, or if fewer than three seeds solve the task with both.
- How often a run collapses: the training lengths are solved at the end, and on its curve exact
  match at twice the length is 0.9 or more at some point and lower by 0.5 or more at the end. Counts
  by encoding and rate, with Wilson's interval for each encoding.
- The mean of the parameters over the points of the last tenth of training against the last ones,
  and the first point of the curve with an exact match of 0.99 at the training length against the
  last: mean difference at twice the length over all new runs, with a bootstrap interval over seeds.
"""

from pe_lab.runs import grid
from pe_lab.studies import base
from pe_lab.studies.suite_grid import CURVES, MULTIPLES, RATES, TASKS, TESTED, TRAINED

FORMS = ("smoke",)

BUDGETS = (1875, 3750, 7500, 15000)
WARMUP_SHARE = 100 / 3750  # of suite_grid
SEEDS = 4
MARGIN = 0.1


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task, longest, _ = TASKS["copy"]
    if form == "smoke":
        longest = 4
    c.train.update(batch_size=32, max_length=longest)
    c.evaluate.update(
        lengths=tuple(round(multiple * longest) for multiple in MULTIPLES),
        curve_every=250,
        curve_lengths=tuple(round(multiple * longest) for multiple in CURVES["copy"]),
    )
    c.checkpoints.keep_curve = True
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.batch_size = 8
        c.evaluate.update(num_examples=16, batch_size=8, curve_every=6, curve_examples=8)
    return c


def sweep(form=""):
    rows, rates, seeds = _rows(), {"train.learning_rate": RATES}, {"seed": range(SEEDS)}
    if form == "smoke":
        rows, rates, seeds = rows[:2], {"train.learning_rate": RATES[:1]}, {"seed": range(1)}
    points = []
    for steps in (12, 18) if form == "smoke" else BUDGETS:
        budget = {
            "train.steps": [grid.labelled(f"{steps} steps", steps)],
            "train.warmup_steps": [grid.labelled("", round(steps * WARMUP_SHARE))],
        }
        points += grid.product(rows, rates, budget, seeds)
    return points


def _rows():
    """The encodings, each with its positions."""
    learned = grid.labelled(
        "learned(init_std=0.7)", (dict(name="learned", max_positions=TESTED, init_std=0.7),)
    )
    names = ("fire", "alibi", "t5_bias", "kerple", "shaw", "transformer_xl", "rope")
    encodings = [(dict(name=name),) for name in names]
    contiguous = grid.labelled("", dict(name="contiguous"))
    shifted = grid.labelled("shifted", dict(name="shifted", max_shift=TESTED - TRAINED))
    return grid.concat(
        grid.product({"model.encodings": encodings, "positions": [contiguous]}),
        grid.product({"model.encodings": [learned], "positions": [shifted]}),
    )


def analysis():
    last, usual = f"{BUDGETS[-1]} steps", f"{BUDGETS[1]} steps"
    by_budget = dict(
        rows=("model.encodings", "positions", "train.learning_rate"), columns="train.steps"
    )
    return dict(
        question="Does extrapolation rise or fall with the number of training steps?",
        contrasts=(dict(a=last, b=usual, at=2), dict(a=last, b=usual, at=2, margin=MARGIN)),
        tables=(
            dict(by_budget, title="Solved seeds", metric="solved"),
            dict(
                by_budget,
                title="At twice the training length",
                metric=dict(name="exact_match", at=2),
            ),
        ),
    )
