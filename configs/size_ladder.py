"""Do the tiers of the suite hold in larger models? Two sizes beside that of the suite.

    pe-lab sweep configs/size_ladder.py        # 2 layers, width 128: 5.3 core-hours
    pe-lab sweep configs/size_ladder.py:deep   # 4 layers, width 128, five rows: 4.4
    pe-lab sweep configs/size_ladder.py:smoke  # a small form

Copying of distinct and of repeated symbols and sorting, with the lengths, steps and batches of
suite_grid, whose models have 2 layers and width 64. Heads stay four, and the feed-forward is four
times as wide as the model. The rates are 0.001 and 0.003. Five seeds, the fewest that give a
contrast an interval. Eight rows, 240 runs; the last row has convolutions of width 4 and no position
encoding. Core-hours are from a timing of 200 steps of rope and fire, whose scores decide nothing.

`deep` has five rows, copying of distinct symbols, and sorting. An earlier design had eight rows,
three tasks and also the rate 0.0003 with 4 layers, which would take more than 14 core-hours, and a
form with 4 layers of width 256. They were cut for their cost before any run.

Declared before the runs:
- The ranking at each size is that of suite_grid: Kendall's tau above 0.6 between the rows' scores
  at this size and at width 64. The score of a row is the mean over tasks of the mean exact match
  over seeds, at twice the training length, at the one of the rates 0.001 and 0.003 that validation
  chooses. At width 64 the rows are runs of suite_grid and of convolution. `deep` ranks its five
  rows over its two tasks.
- RoPE extends less than Shaw at every size: rope - shaw at twice the training length is below 0,
  for each task.
- The learning rate explains less in larger models: its share of the variance of exact match at
  twice the training length, at the rates 0.001 and 0.003, over the rows of which every run solves
  the task at 2 x 64, 2 x 128 and 4 x 128. It falls if the jackknife interval over seeds of the
  share at 4 x 128 minus that at 2 x 64 is below 0.
"""

from configs import convolution
from pe_lab.runs import grid
from pe_lab.studies import suite_grid

FORMS = ("deep", "smoke")

TASKS = ("copy", "copy repeated", "sort")
RATES = (1e-3, 3e-3)
SEEDS = 5
DEEP_TASKS = ("copy", "sort")
DEEP_ROWS = ("rope", "t5_bias", "fire", "shaw", "alibi(learn_slopes=True)")


def get_config(form=""):
    c = suite_grid.get_config(form)
    if form == "smoke":
        return c
    num_layers = 4 if form == "deep" else 2
    c.model.update(num_layers=num_layers, width=128, feedforward_width=512)
    return c


def sweep(form=""):
    if form == "smoke":
        steps = {name: (task, 4, 12) for name, (task, _, _) in list(suite_grid.TASKS.items())[:1]}
        return grid.product(_rows()[-2:], suite_grid.tasks(steps), {"seed": range(1)})
    rows = _rows()
    if form == "deep":
        rows = [row for row in rows if row["model.encodings"].label in DEEP_ROWS]
    axes = {"train.learning_rate": RATES, "seed": range(SEEDS)}
    points = []
    for name in DEEP_TASKS if form == "deep" else TASKS:  # one task after the other
        task = suite_grid.tasks({name: suite_grid.TASKS[name]})
        points += grid.product(rows, task, axes)
    return points


def _rows():
    names = ("rope", "t5_bias", "kerple", "fire", "shaw", "transformer_xl")
    encodings: list[object] = [(dict(name=name),) for name in names]
    encodings.append((dict(name="alibi", learn_slopes=True),))
    without = grid.labelled("", ())
    sites = grid.labelled(convolution.WITH, convolution.SITES[convolution.WITH])
    return grid.concat(
        grid.product({"model.encodings": encodings, "model.convolution_sites": [without]}),
        grid.product(
            {"model.encodings": [(dict(name="nope"),)], "model.convolution_sites": [sites]}
        ),
    )


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    nope = () if form == "deep" else ((f"nope · {convolution.WITH}", "shaw"),)
    return dict(
        question="Do the tiers of the suite hold in larger models?",
        contrasts=(("rope", "shaw"), *nope),
        tuned=("train.learning_rate",),
        tables=(
            dict(
                rows=("model.encodings", "model.convolution_sites"),
                columns="task",
                title="At twice the training length",
                metric=dict(name="exact_match", at=2, show="mean"),
            ),
        ),
    )
