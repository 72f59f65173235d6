"""Can a small decoder learn the tasks that isolate position, and does PoPE index where RoPE fails?

    pe-lab sweep configs/position_probes.py
    pe-lab sweep configs/position_probes.py:convolution  # what it does not learn, with convolutions

Seven tasks with `rope` and with one other kind of encoding: `t5_bias`, in indirect indexing `pope`
too, and on pages `mrope` at the positions of text and grids. A run ends 500 steps after it solves
its task, and at the latest after 10,000 steps. 140 runs of half a minute to two minutes of one
core.

Declared before the runs, at the longest trained length and at the rate that validation chooses:
`pope` - `rope` on indirect indexing, where the paper of PoPE reports that RoPE fails, and `mrope` -
`rope` on pages. Verdict: PoPE is ahead if the interval lies above 0, and a task is learned if all
seeds of an encoding solve it. Numbers at other lengths compare runs of different numbers of steps.

No run of indirect indexing, needle, path_star and multi_hop solves its task. The form
`convolution`, declared after that, asks whether convolutions of width 4 at all sites of Canon
layers make them learnable: needle as before, and smaller forms of the others in three layers, each
with `rope` and convolutions, with `rope` alone, and indirect indexing with `pope` and convolutions
too. Its rate and sizes come from pilots of one seed. A task is learned if all four seeds of a
variant solve it. Declared contrasts at the longest trained length: convolution - no convolution on
each task, and `pope` - `rope` with convolutions.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("convolution",)

RATES = (1e-3, 3e-3)
STEPS = 10_000
# Task, and its shortest and longest length of training in its unit.
TASKS = {
    "indirect_indexing": (dict(name="indirect_indexing"), 2, 16),
    "needle": (dict(name="needle", num_needles=2), 6, 32),
    "path_star": (dict(name="path_star", num_nodes=40), 2, 5),
    "multi_hop": (dict(name="multi_hop", max_hops=3, max_questions=1), 2, 8),
    "fuzzy recall": (dict(name="in_context_recall", longest_key=3, longest_value=3), 1, 8),
    "noisy recall": (dict(name="in_context_recall", noise=0.2), 1, 16),
    "copy_page": (dict(name="copy_page"), 2, 4),
}
# Encodings that are compared with rope; t5_bias in the other tasks.
OTHERS = {"indirect_indexing": ("pope", "t5_bias"), "copy_page": ("mrope",)}
SEEDS = {"indirect_indexing": 6, "copy_page": 6}  # of the contrasts; 4 for the other tasks
MULTIPLES = (1, 1.5, 2)
# The form `convolution`: the task, its lengths as above, and the layers of the model.
LEARNABLE = {
    "needle": (*TASKS["needle"], 2),
    "path_star": (dict(name="path_star", num_nodes=20), 2, 3, 3),
    "indirect_indexing": (dict(name="indirect_indexing", num_symbols=16, max_offset=2), 2, 8, 3),
    "multi_hop": (dict(name="multi_hop", word_symbols=16, max_hops=2, max_questions=8), 2, 8, 3),
}
WITH, WITHOUT = "convolution", "no convolution"


def get_config(form=""):
    c = base.get_config()
    c.train.update(steps=STEPS, batch_size=32, warmup_steps=100)
    c.evaluate.update(curve_every=500)
    if form == "convolution":
        c.train.learning_rate = 3e-3
    return c


def sweep(form=""):
    return _learnable() if form == "convolution" else _plain()


def _plain():
    points = []
    for label, (task, min_length, max_length) in TASKS.items():
        of_task = _of_task(label, task, min_length, max_length)
        encodings = [_with_positions(name) for name in ("rope", *OTHERS.get(label, ("t5_bias",)))]
        axes = {"train.learning_rate": RATES, "seed": range(SEEDS.get(label, 4))}
        points += grid.product(of_task, grid.concat(*encodings), axes)
    return points


def _learnable():
    convolved, plain = [], []
    for label, (task, min_length, max_length, num_layers) in LEARNABLE.items():
        of_task = _of_task(label, task, min_length, max_length, num_layers=num_layers)
        names = ("rope", "pope") if label == "indirect_indexing" else ("rope",)
        seeds = {"seed": range(4)}
        convolved += grid.product(of_task, _with_sites(WITH, ("A", "B", "C", "D"), names), seeds)
        plain += grid.product(of_task, _with_sites(WITHOUT, (), ("rope",)), seeds)
    return convolved + plain


def _of_task(label, task, min_length, max_length, **model):
    """The point of a task, with settings of the model, under its name alone."""
    values = {
        "train.min_length": min_length,
        "train.max_length": max_length,
        **{f"model.{key}": value for key, value in model.items()},
        "evaluate.lengths": tuple(round(m * max_length) for m in MULTIPLES),
        "evaluate.curve_lengths": (max_length,),
    }
    hidden = {path: [grid.labelled("", value)] for path, value in values.items()}
    return grid.product({"task": [grid.labelled(label, task)]}, hidden)


def _with_sites(label, sites, names):
    return grid.product(
        {
            "model.encodings": [(dict(name=name),) for name in names],
            "model.convolution_sites": [grid.labelled(label, sites)],
        }
    )


def _with_positions(name):
    scheme = grid.labelled("", dict(name="multimodal" if name == "mrope" else "contiguous"))
    return grid.product({"model.encodings": [(dict(name=name),)], "positions": [scheme]})


def analysis(form=""):
    by_task = dict(rows="model.encodings", columns="task")
    if form == "convolution":
        by_task["rows"] = ("model.encodings", "model.convolution_sites")
    contrasts = [
        dict(a="indirect_indexing · pope", b="indirect_indexing · rope", at=1),
        dict(a="copy_page · mrope", b="copy_page · rope", at=1),
    ]
    if form == "convolution":
        contrasts = [
            dict(a=f"{task} · rope · {WITH}", b=f"{task} · rope · {WITHOUT}", at=1)
            for task in LEARNABLE
        ]
        pope, rope = (f"indirect_indexing · {name} · {WITH}" for name in ("pope", "rope"))
        contrasts.append(dict(a=pope, b=rope, at=1))
    return dict(
        question="Are the tasks that isolate position learned within 10,000 steps?",
        extrapolation=dict(at=1),
        contrasts=tuple(contrasts),
        tuned=() if form == "convolution" else ("train.learning_rate",),
        tables=(
            dict(by_task, title="Solved seeds", metric="solved"),
            dict(by_task, title="Steps to solve", metric="steps_to_solve"),
            dict(rows=by_task["rows"], columns="length", each="task", title="By length"),
        ),
    )
