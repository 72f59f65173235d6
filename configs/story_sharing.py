"""Why three matrices? Queries, keys and values that share them, on copy, recall and sort.

    pe-lab sweep configs/story_sharing.py
    pe-lab sweep configs/story_sharing.py:smoke  # a small form

With `rope`, attention has matrices of its own for queries, keys and values, or one for queries and
keys, or one for all three. 108 runs of about 20 seconds of one core.

Declared before the runs, at the training length and at the rate that validation chooses, for each
task: qk - none and qkv - none, and each as an equivalence with a margin of 0.05. Verdict for a
sharing and a task: it costs something if the interval lies below 0, nothing if it lies within the
margin, and the study is undecided otherwise.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)

RATES = (1e-3, 3e-3)
SEEDS = 6
MARGIN = 0.05
SHARINGS = {"separate": "none", "Q = K": "qk", "Q = K = V": "qkv"}
TASKS = {  # task, longest training example, steps
    "copy": (dict(name="copy", num_symbols=24), 8, 1500),
    "recall": (dict(name="associative_recall", num_symbols=66, slots_per_pair=1), 4, 3000),
    "sort": (dict(name="sort", num_symbols=24), 8, 1500),
}


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.model.encodings = (dict(name="rope"),)
    c.train.update(batch_size=32, warmup_steps=50)
    c.evaluate.curve_every = 250
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(batch_size=8, warmup_steps=2)
        c.evaluate.update(num_examples=16, batch_size=8, curve_every=6, curve_examples=8)
    return c


def sweep(form=""):
    points = []
    for name, (task, longest, steps) in list(TASKS.items())[: 1 if form == "smoke" else None]:
        settings = {
            "train.max_length": longest,
            "train.steps": 12 if form == "smoke" else steps,
            "evaluate.lengths": (longest, 2 * longest),
            "evaluate.curve_lengths": (longest,),
        }
        hidden = {path: [grid.labelled("", value)] for path, value in settings.items()}
        points += grid.product({"task": [grid.labelled(name, task)]}, hidden)
    sharings = [grid.labelled(label, value) for label, value in SHARINGS.items()]
    rates = {"train.learning_rate": RATES[:1] if form == "smoke" else RATES}
    seeds = {"seed": range(1 if form == "smoke" else SEEDS)}
    return grid.product(points, {"model.shared_projections": sharings}, rates, seeds)


def analysis():
    contrasts = []
    for shared in ("Q = K", "Q = K = V"):
        contrasts.append(dict(a=shared, b="separate", at=1))
        contrasts.append(dict(a=shared, b="separate", at=1, margin=MARGIN))
    by_task = dict(rows="model.shared_projections", columns="task")
    return dict(
        question="What does it cost if queries, keys and values share a matrix?",
        extrapolation=dict(at=1),
        contrasts=tuple(contrasts),
        tuned=("train.learning_rate",),
        tables=(
            dict(by_task, title="At the training length", metric=dict(name="exact_match", at=1)),
            dict(by_task, title="At twice the length", metric=dict(name="exact_match", at=2)),
            dict(by_task, title="Steps to solve", metric="steps_to_solve"),
        ),
    )
