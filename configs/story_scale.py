"""Is √Dh needed? Attention with and without the scale of its logits, at three head widths.

    pe-lab sweep configs/story_scale.py
    pe-lab sweep configs/story_scale.py:smoke  # a small form

Copy of up to 8 of 24 symbols with `rope`, by models whose heads are 16, 64 and 128 wide. Untrained
models of head widths up to 512 are measured by `python -m docs.build --measure=initialization`.
72 runs of 12 to 40 seconds of one core.

Declared before the runs, at the training length and at each rate: scaled - unscaled logits, for
each head width. Verdict: the scale matters if the interval of a head width excludes 0 at every
rate, or if fewer seeds solve the task without it at every rate (Barnard's test); it matters for
wide heads alone if that holds at 128 and not at 16.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)

RATES = (1e-3, 3e-3)
SEEDS = 6
SIZES = {"Dh=16": (64, 4), "Dh=64": (64, 1), "Dh=128": (128, 1)}  # width, heads


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.model.encodings = (dict(name="rope"),)
    c.train.update(steps=1500, batch_size=32, max_length=8, warmup_steps=50)
    c.evaluate.update(lengths=(8, 12, 16), curve_every=100, curve_lengths=(8,))
    if form == "smoke":
        c.train.update(steps=12, batch_size=8, warmup_steps=2)
        c.evaluate.update(num_examples=16, batch_size=8, curve_every=6, curve_examples=8)
    return c


def sweep(form=""):
    sizes = {"Dh=4": (16, 4)} if form == "smoke" else SIZES
    points = []
    for label, (width, num_heads) in sizes.items():
        points += grid.product(
            {
                "model.num_heads": [grid.labelled(label, num_heads)],
                "model.width": [grid.labelled("", width)],
                "model.feedforward_width": [grid.labelled("", 4 * width)],
            }
        )
    scales = [grid.labelled("scaled", True), grid.labelled("unscaled", False)]
    rates = {"train.learning_rate": RATES[:1] if form == "smoke" else RATES}
    seeds = {"seed": range(1 if form == "smoke" else SEEDS)}
    return grid.product(points, {"model.scale_logits": scales}, rates, seeds)


def analysis():
    by_rate = dict(rows=("model.num_heads", "model.scale_logits"), columns="train.learning_rate")
    return dict(
        question="Does attention need logits that are divided by √Dh?",
        extrapolation=dict(at=1),
        contrasts=(dict(a="scaled", b="unscaled", at=1),),
        tables=(
            dict(by_rate, title="Solved seeds", metric="solved"),
            dict(by_rate, title="Steps to solve", metric="steps_to_solve"),
            dict(
                by_rate,
                title="At the training length",
                metric=dict(name="exact_match", at=1),
            ),
        ),
    )
