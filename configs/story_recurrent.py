"""Does a recurrent net forget what is far away? An LSTM against attention with ALiBi.

    pe-lab sweep configs/story_recurrent.py
    pe-lab sweep configs/story_recurrent.py:smoke  # a small form

Copy and flip_flop with the settings of suite_grid, recall of up to 4 pairs,
and parity of up to 16 bits. The layer of the LSTM is the transformer's layer with a cell in place
of attention. On recall and flip_flop, exact match is also measured by the largest distance to a
token that an answer needs; on copy the length determines the distance. 96 runs of about 40 seconds
of one core.

Declared before the runs, for each task at the trained length and at twice that length, at the rate
that validation chooses: LSTM - ALiBi. Verdict for the sentence: the LSTM forgets with distance if
its exact match on recall or flip_flop falls with the distance at the trained length (Spearman's
rank correlation over distances below 0 for at least five of six seeds) and that of attention does
not; it extends where attention does not if the interval at twice the length lies above 0.
"""

from configs import story_sharing
from pe_lab.runs import grid
from pe_lab.studies import base, suite_grid

FORMS = ("smoke",)

RATES = (1e-3, 3e-3)
SEEDS = 6
TASKS = {
    **{name: suite_grid.TASKS[name] for name in ("copy", "flip_flop")},
    "recall": story_sharing.TASKS["recall"],
    "parity": (dict(name="parity"), 16, 3000),
}
_BY_DISTANCE = ("recall", "flip_flop")


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.train.update(batch_size=32, warmup_steps=100)
    c.evaluate.curve_every = 250
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(batch_size=8, warmup_steps=2)
        c.evaluate.update(num_examples=16, batch_size=8, curve_every=6, curve_examples=8)
    return c


def sweep(form=""):
    tasks = {"copy": (TASKS["copy"][0], 4, 12)} if form == "smoke" else TASKS
    points = []
    for name, (task, longest, steps) in tasks.items():
        settings = {
            "train.min_length": 2 if name == "flip_flop" else 1,
            "train.max_length": longest,
            "train.steps": steps,
            "evaluate.lengths": tuple(round(m * longest) for m in (0.5, 1, 1.5, 2, 4)),
            "evaluate.curve_lengths": (longest, 2 * longest),
            "evaluate.attributes": ("longest_distance",) if name in _BY_DISTANCE else (),
        }
        hidden = {path: [grid.labelled("", value)] for path, value in settings.items()}
        points += grid.product({"task": [grid.labelled(name, task)]}, hidden)
    recurrent = {"model.mixer": [grid.labelled("LSTM", "lstm")]}
    attention = {"model.mixer": [grid.labelled("ALiBi", "attention")]}
    alibi = {"model.encodings": [grid.labelled("", (dict(name="alibi"),))]}
    none = {"model.encodings": [grid.labelled("", ())]}
    mixers = grid.concat(grid.product(recurrent, none), grid.product(attention, alibi))
    rates = {"train.learning_rate": RATES[:1] if form == "smoke" else RATES}
    return grid.product(points, mixers, rates, {"seed": range(1 if form == "smoke" else SEEDS)})


def analysis():
    return dict(
        question="Does a recurrent net forget what is far away, and attention not?",
        contrasts=tuple(dict(a="LSTM", b="ALiBi", at=at) for at in (1, 2)),
        tuned=("train.learning_rate",),
        tables=(
            dict(rows="model.mixer", columns="length", each="task", title="By length"),
            dict(
                rows="model.mixer",
                columns="task",
                title="At twice the training length",
                metric=dict(name="exact_match", at=2),
            ),
        ),
    )
