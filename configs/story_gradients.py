"""Do raw indices make gradients explode? Gradient norms by length, through training.

    pe-lab sweep configs/story_gradients.py
    pe-lab sweep configs/story_gradients.py:smoke  # a small form

Copy of up to 8 of 24 symbols with the index itself, the index divided by the length, and
`sinusoidal`. Parameters are kept at every point of the curve, and
`gradient_norms.through_training` (pe_lab/contrib/inspection) measures the norm of the loss's
gradient from them, at the lengths 4, 8, 16 and 24. 36 runs of about 12 seconds of one core.

Declared before the runs: the ratio of the median norms of `raw_index` and `sinusoidal` at length 8
and of lengths 24 and 4 within each, at step 0 and over the first 300 steps. Verdict: raw indices
explode gradients if the first ratio is above 3 at a step and the interval over seeds of its
logarithm excludes 0; norms that stay below the clipping norm of 1 are no explosion. The contrast
`raw_index` - `sinusoidal` is at the training length; a normalized index reveals the target length
and is not compared.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)

RATES = (1e-3, 3e-3)
SEEDS = 6


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=1500, batch_size=32, max_length=8, warmup_steps=50)
    c.evaluate.update(lengths=(8, 12, 16), curve_every=50, curve_lengths=(8,))
    c.checkpoints.keep_curve = True
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(steps=12, batch_size=8, warmup_steps=2)
        c.evaluate.update(num_examples=16, batch_size=8, curve_every=6, curve_examples=8)
    return c


def sweep(form=""):
    raw_index, sinusoidal = (dict(name="raw_index"),), (dict(name="sinusoidal"),)
    contiguous = grid.labelled("", dict(name="contiguous"))
    variants = grid.concat(
        grid.product({"model.encodings": [raw_index, sinusoidal], "positions": [contiguous]}),
        grid.product({"model.encodings": [raw_index], "positions": [dict(name="normalized")]}),
    )
    rates = {"train.learning_rate": RATES[:1] if form == "smoke" else RATES}
    return grid.product(variants, rates, {"seed": range(1 if form == "smoke" else SEEDS)})


def analysis():
    return dict(
        question="Do raw indices make gradients explode?",
        extrapolation=dict(at=1),
        contrasts=(dict(a="raw_index", b="sinusoidal", at=1),),
        tuned=("train.learning_rate",),
    )
