"""The standard suite: which tasks does an encoding learn, and how far does it extend them?

    pe-lab suite my_package.mine:Mine  # your row
    pe-lab sweep suite                 # to publish all rows anew
    pe-lab sweep suite:smoke           # a small form

Decoder with 2 layers and width 64, batches of 32, ten seeds, learning rates tuned over three values
with two of the seeds: 588 runs, 84 for each encoding, which take about 35 minutes on two cores.
docs/suite.md says what the suite can tell and how the budgets are chosen.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab.runs import grid
from pe_lab.studies import base, suite_grid

# The published rows, as docs/build/suite_rows.py shortens them.
ROWS = Path(__file__).parent / "suite_rows"
GRID_SCORES = Path(__file__).parent / "suite_grid.csv"  # of the published runs of suite_grid
ENCODINGS = ("nope", "sinusoidal", "shaw", "t5_bias", "alibi", "kerple", "rope")
RATES = (1e-3, 3e-3, 1e-2)
TASKS = {  # with the longest example of training, in the task's unit, and the steps
    "copy": (dict(name="copy", num_symbols=96), 16, 3750),
    "copy repeated": (dict(name="copy", num_symbols=8, distinct=False), 16, 3500),
    "recall": (dict(name="associative_recall", num_symbols=130, slots_per_pair=1), 8, 6750),
    "addition": (dict(name="addition", reverse_operands=True, lengths="one_longest"), 6, 3750),
    "sort": (dict(name="sort", num_symbols=96), 16, 3250),
    "flip_flop": (dict(name="flip_flop"), 16, 3000),
}


def row_folders():
    """The folders of the published rows: pe_lab's rows, then rows that others have added."""
    return [ROWS, *sorted(file.parent for file in ROWS.glob("*/study.json"))]


@dataclass(frozen=True)
class Form:
    """A form of the suite: the name of its studies, its tasks, seeds and tuning.

    Without tuning, every seed trains at every one of RATES. Its runs are runs of suite_grid.
    """

    name: str
    tasks: tuple[str, ...]
    seeds: int
    tune: dict[str, Any] | None
    smoke: bool = False
    remark: str = ""  # before its tables


tune = dict(axes={"train.learning_rate": RATES}, seeds=2)
FULL = Form("suite", tuple(TASKS), 10, tune)
QUICK = Form(
    "suite_quick",
    ("copy",),
    3,
    tune=None,
    remark="Copying with three seeds at three learning rates. Published rows are those of "
    "suite_grid:copying, with the same seeds and rates.",
)
SMOKE = Form(
    "suite_smoke", ("copy",), 3, dict(tune, seeds=1), smoke=True, remark="Smoke rows: no results."
)


def get_config(smoke=False):
    c = suite_grid.get_config(smoke=smoke)
    if smoke:
        c.execution.chunk_steps = 6
    return c


def cost_config():
    """The model in which the time of a step is measured, with contexts of 80 tokens."""
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=64, distinct=False)
    c.model.update(width=128, feedforward_width=512)
    c.train.update(max_length=39, batch_size=32)
    c.evaluate.update(lengths=(8,), curve_lengths=(8,))
    return c


def points(encodings, form=FULL, names=None):
    """The points of encodings: each task under its name alone, with its lengths and steps."""
    names = names or form.tasks
    if form.tune is None:
        tasks = suite_grid.tasks({name: suite_grid.TASKS[name] for name in names}, curves={})
        axes = {"train.learning_rate": RATES, "seed": range(form.seeds)}
        return grid.product({"model.encodings": encodings}, tasks, axes)
    return points_of(encodings, {name: TASKS[name] for name in names}, form)


def points_of(encodings, tasks, form):
    """The points of encodings with tasks given as in TASKS, which a form need not have."""
    settings_of_tasks = []
    for name, (task, max_length, steps) in tasks.items():
        if form.smoke:
            max_length, steps = 4, 12
        tested = (max_length, 3 * max_length // 2, 2 * max_length, 4 * max_length)
        hidden = {
            "train.min_length": 2 if name == "flip_flop" else 1,
            "train.max_length": max_length,
            "train.steps": steps,
            "evaluate.lengths": tested,
            "evaluate.curve_lengths": (max_length, 2 * max_length),
        }
        settings = {path: [grid.labelled("", value)] for path, value in hidden.items()}
        settings_of_tasks += grid.product({"task": [grid.labelled(name, task)]}, settings)
    seeds = {"seed": range(form.seeds)}
    return grid.product({"model.encodings": encodings}, settings_of_tasks, seeds)


def sweep(smoke=False):
    if smoke:
        return points([(dict(name="nope"),)], SMOKE)
    return points([(dict(name=name),) for name in ENCODINGS])


def analysis_of(form):
    """The analysis of rows. Contrasts name encodings of the published table."""
    whole = suite_grid.analysis() if form.tune is None else analysis()
    return {key: value for key, value in whole.items() if key != "contrasts"}


def analysis():
    by_task = dict(rows="model.encodings", columns="task")
    return dict(
        question="Which tasks does an encoding learn, and which does it extend to two and four "
        "times the training length?",
        contrasts=(
            ("rope", "alibi"),
            ("rope", "nope"),
            ("rope", "sinusoidal"),
            ("shaw", "t5_bias"),
            ("kerple", "alibi"),
        ),
        tables=(
            dict(
                by_task,
                title="At twice the training length",
                metric=dict(name="exact_match", at=2, show="iqm"),
            ),
            dict(
                by_task,
                title="At four times the training length",
                metric=dict(name="exact_match", at=4, show="iqm"),
            ),
            dict(by_task, title="Solved seeds", metric="solved"),
        ),
    )
