"""Does a grid need a second axis? One axis against two, on small grids and on larger ones.

    pe-lab sweep configs/story_grids.py
    pe-lab sweep configs/story_grids.py:smoke  # a small form

Grids of up to 4 rows and columns are copied (`copy_grid`), or each cell is added to the one above
it (`add_above`); tests have sides of up to 8. `sinusoidal` and `rope` read the index of each token;
`sinusoidal_2d`, `axial_rope` and `mixed_rope` read its row and its column. 120 runs of about 25
seconds of one core.

Declared before the runs, for each task at the trained and at 1.5 times the trained side, at the
rate that validation chooses: `sinusoidal_2d` - `sinusoidal`, `axial_rope` - `rope`, `mixed_rope` -
`rope` and `mixed_rope` - `axial_rope`. Verdict: a second axis helps to learn a task if the interval
at the trained side lies above 0, and it extends if that at 1.5 times the side does and both solve
the trained sides.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)

RATES = (1e-3, 3e-3)
SEEDS = 6
SIDE = 4  # the longest trained one


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.train.update(steps=1500, batch_size=32, min_length=2, max_length=SIDE, warmup_steps=50)
    c.evaluate.update(lengths=(4, 5, 6, 8), curve_every=250, curve_lengths=(SIDE,))
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(steps=12, batch_size=8, max_length=2, warmup_steps=2)
        c.evaluate.update(num_examples=16, batch_size=8, curve_every=6, curve_examples=8)
        c.evaluate.update(lengths=(2, 4), curve_lengths=(2,))
    return c


def sweep(form=""):
    tasks = [dict(name="copy_grid"), dict(name="add_above")]
    one = [(dict(name=name),) for name in ("sinusoidal", "rope")]
    two = [(dict(name=name),) for name in ("sinusoidal_2d", "axial_rope", "mixed_rope")]
    if form == "smoke":
        tasks, one, two = tasks[1:], one[:1], two[:1]
    one_axis = grid.labelled("", dict(name="contiguous"))
    two_axes = grid.labelled("", dict(name="grid"))
    variants = grid.concat(
        grid.product({"model.encodings": one, "positions": [one_axis]}),
        grid.product({"model.encodings": two, "positions": [two_axes]}),
    )
    rates = {"train.learning_rate": RATES[:1] if form == "smoke" else RATES}
    seeds = {"seed": range(1 if form == "smoke" else SEEDS)}
    return grid.product({"task": tasks}, variants, rates, seeds)


def analysis():
    pairs = (
        ("sinusoidal_2d", "sinusoidal"),
        ("axial_rope", "rope"),
        ("mixed_rope", "rope"),
        ("mixed_rope", "axial_rope"),
    )
    return dict(
        question="Does a grid need a second axis of positions?",
        extrapolation=dict(at=1.5),
        contrasts=tuple(dict(a=a, b=b, at=at) for a, b in pairs for at in (1, 1.5)),
        tuned=("train.learning_rate",),
        tables=(
            dict(rows="model.encodings", columns="length", each="task", title="By the longer side"),
        ),
    )
