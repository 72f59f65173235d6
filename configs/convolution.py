"""Does a short causal convolution replace a position encoding, and what does it do to length?

    pe-lab sweep configs/convolution.py
    pe-lab sweep configs/convolution.py:copying  # its first task alone
    pe-lab sweep configs/convolution.py:tasks    # the five other tasks at two rates, without sinks
    pe-lab sweep configs/convolution.py:smoke    # a small form

A decoder without position encodings and one with RoPE, each with and without convolutions of width
4 at all four sites of Canon layers (Allen-Zhu 2025, https://arxiv.org/abs/2512.17351), and each
with and without learned sinks. Tasks, lengths, steps, rates and seeds match suite_grid. A
convolution reads the three tokens before each one, and a layer has two sites before attention and
two after it.

1,152 runs. A run takes half a minute of one core without convolutions and, by the time of its
steps, 1.5 to 2.5 times as long with them: about 16 core-hours. Its variants without convolutions
and sinks are runs of suite_grid.

Declared before the runs, at the rate that validation chooses:
- replacement: NoPE with convolutions against RoPE without them, at the training length with a
  margin of 0.05, and at twice the training length;
- length: RoPE with convolutions against RoPE without them, and NoPE with convolutions against NoPE
  without them, at twice the training length;
- the encoding that is left: RoPE against NoPE, both with convolutions;
- sinks: each encoding with learned sinks against the same one without them.

The form `tasks` asks what the other five tasks measure. On copying, a convolution without a
position encoding extends as far as the best encodings, so copying of distinct symbols measures
whether a model can read the token before. The form has the rates 0.001 and 0.003, six seeds and no
sinks: 120 new trainings, about 5 core-hours. NoPE, RoPE, Shaw and KERPLE without
convolutions come from suite_grid.

Declared before its first run, for each task, at the rate that validation chooses and at twice the
training length:
- NoPE with convolutions against Shaw and against KERPLE without them;
- NoPE with convolutions against NoPE without them, which can be decided on sort and flip_flop
  alone, where some run without them solves the training lengths;
- RoPE with convolutions against RoPE without them;
- RoPE against NoPE, both with convolutions.
Rule of the tiers: convolutions put a model into the upper tier of a task if its share of solved
runs that extrapolate, over both rates and all seeds, is at least the lower one of the shares of
Shaw and KERPLE, and this lower share is above 0. A task decides nothing if it is 0, as it is for
repeated symbols and addition in suite_grid, or if fewer than three runs with convolutions solve the
task. Shares have the interval of results/published/suite_grid_copying/tiers.py.
"""

from pe_lab.runs import grid
from pe_lab.studies import suite_grid

FORMS = ("copying", "tasks", "smoke")

WITH, WITHOUT = "convolution", "no convolution"
SITES = {WITHOUT: (), WITH: ("A", "B", "C", "D")}
RATES_OF_TASKS = (1e-3, 3e-3)  # of the form `tasks`


def get_config(form=""):
    return suite_grid.get_config(form)


def sweep(form=""):
    if form == "smoke":
        steps = {name: (task, 4, 12) for name, (task, _, _) in list(suite_grid.TASKS.items())[:1]}
        return grid.product(_variants(), suite_grid.tasks(steps), {"seed": range(1)})
    names, rows, rates = list(suite_grid.TASKS), _variants(), list(suite_grid.RATES)
    if form == "copying":
        names = ["copy"]
    elif form == "tasks":
        names, rows, rates = names[1:], _rows_of_tasks(), list(RATES_OF_TASKS)
    axes = {"train.learning_rate": rates, "seed": range(suite_grid.SEEDS)}
    points = []
    for name in names:  # one task after the other
        task = suite_grid.tasks({name: suite_grid.TASKS[name]})
        points += grid.product(rows, task, axes)
    return points


def _variants():
    sinks = {"no sinks": False, "sinks": True}
    return grid.product(
        {
            "model.encodings": [(dict(name="nope"),), (dict(name="rope"),)],
            "model.convolution_sites": [grid.labelled(*sites) for sites in SITES.items()],
            "model.learned_sinks": [grid.labelled(*sink) for sink in sinks.items()],
        }
    )


def _rows_of_tasks():
    sites = [grid.labelled(*sites) for sites in SITES.items()]
    names = {"model.encodings": [(dict(name=name),) for name in ("nope", "rope")]}
    biases = {"model.encodings": [(dict(name=name),) for name in ("shaw", "kerple")]}
    return grid.concat(
        grid.product(names, {"model.convolution_sites": sites}),
        grid.product(biases, {"model.convolution_sites": sites[:1]}),
    )


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    if form == "tasks":
        return _analysis_of_tasks()
    replacement = dict(a=f"nope · {WITH}", b=f"rope · {WITHOUT}")
    return dict(
        question=(
            "Does a convolution of width 4 replace a position encoding, and what does it do to "
            "length?"
        ),
        contrasts=(
            dict(replacement, at=1, margin=0.05),
            dict(replacement, at=2),
            dict(a=f"rope · {WITH}", b=f"rope · {WITHOUT}", at=2),
            dict(a=f"nope · {WITH}", b=f"nope · {WITHOUT}", at=2),
            dict(a=f"rope · {WITH}", b=f"nope · {WITH}", at=2),
            dict(a="rope · sinks", b="rope · no sinks", at=2),
            dict(a="nope · sinks", b="nope · no sinks", at=2),
        ),
        tuned=("train.learning_rate",),
        tables=(
            dict(
                rows=("model.encodings", "model.convolution_sites", "model.learned_sinks"),
                columns="task",
                title="At twice the training length",
                metric=dict(name="exact_match", at=2, show="iqm"),
            ),
        ),
    )


def _analysis_of_tasks():
    nope, rope = f"nope · {WITH}", f"rope · {WITH}"
    by_task = dict(rows=("model.encodings", "model.convolution_sites"), columns="task")
    return dict(
        question="Do convolutions put a model without positions into the upper tier on each task?",
        contrasts=(
            dict(a=nope, b=f"shaw · {WITHOUT}", at=2),
            dict(a=nope, b=f"kerple · {WITHOUT}", at=2),
            dict(a=nope, b=f"nope · {WITHOUT}", at=2),
            dict(a=rope, b=f"rope · {WITHOUT}", at=2),
            dict(a=rope, b=nope, at=2),
        ),
        tuned=("train.learning_rate",),
        tables=(
            dict(
                by_task,
                title="At twice the training length",
                metric=dict(name="exact_match", at=2, show="iqm"),
            ),
        ),
    )
