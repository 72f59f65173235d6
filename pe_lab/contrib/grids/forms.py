"""The forms of `pe-lab suite`: the runs of suite_grid for any encoding, with fewer seeds and rates.

It is no study of its own, so `pe-lab sweep` does not list it. docs/suite.md says what the suite can
tell.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.runs import grid
from pe_lab.studies import base, suite_grid

# Scores of the published runs of suite_grid and of rows that others have added.
SCORES = Path(__file__).parent / "suite_grid.csv"
RATES = (1e-3, 3e-3, 1e-2)
SEEDS = 3


@dataclass(frozen=True)
class Form:
    """A form of the suite.

    Attributes:
      name: of its studies.
      tasks: as in suite_grid.TASKS.
      remark: before its tables.
    """

    name: str
    tasks: Mapping[str, tuple[object, int, int]]
    remark: str
    is_smoke: bool = False


_PUBLISHED = "Published rows are those of suite_grid, with the same seeds and rates."
FULL = Form(
    "suite",
    suite_grid.TASKS,
    f"Six tasks with three seeds at three learning rates. {_PUBLISHED}",
)
QUICK = Form(
    "suite_quick",
    {"copy": suite_grid.TASKS["copy"]},
    f"Copying with three seeds at three learning rates. {_PUBLISHED}",
)
SMOKE = Form(
    "suite_smoke",
    {name: (suite_grid.TASKS[name][0], 4, 12) for name in ("copy", "flip_flop")},
    "Smoke rows: no results.",
    is_smoke=True,
)


def get_config(form=FULL):
    c = suite_grid.get_config("smoke" if form.is_smoke else "")
    if form.is_smoke:
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


def points(encodings: Sequence[object], form: Form = FULL, names: Sequence[str] | None = None):
    """Return the points of encodings on the tasks of a form, or on some of them.

    Training curves have two lengths only, to save time. A run keeps its id and its scores.
    """
    tasks = {name: form.tasks[name] for name in names or form.tasks}
    axes = {"train.learning_rate": RATES, "seed": range(SEEDS)}
    return grid.product({"model.encodings": encodings}, suite_grid.tasks(tasks, curves={}), axes)


def analysis():
    """Return the analysis of a row. The contrasts of suite_grid name its own encodings."""
    grid_analysis = suite_grid.analysis()
    return {key: value for key, value in grid_analysis.items() if key != "contrasts"}
