"""How much of a difference between encodings is noise: initialization, data or rounding?

    pe-lab sweep configs/noise.py:pilot    # fixes the rates below
    pe-lab sweep configs/noise.py          # 10 x 10 seeds
    pe-lab sweep configs/noise.py:placebo  # one function, two names
    pe-lab sweep configs/noise.py:vmap     # other orders of summation
    pe-lab sweep configs/noise.py:reference
    pe-lab sweep configs/noise.py:smoke    # a small form

`seed` draws the initial weights, and `data_seed` draws the batches. Every pair of ten seeds of each
kind is trained. The decoder has 2 layers, width 64 and 4 heads; it copies up to 8 of 24 distinct
symbols. 400 runs of about 12 seconds of one core, and 202 more in the other forms.

Placebos are the same function under another name, so that any difference between them is noise:
- positions that are shifted at random, for relative encodings, whose distances stay the same;
- `rope` on heads 0 and 1 and `rope` on heads 2 and 3, which is `rope` on all heads.
The forms vmap and reference train the same ten runs with batched members, and with the equations as
they are written. Only the order of the sums changes.

Declared before the runs. Shares of the variance of exact match at the lengths 10, 12 and 16, for
each encoding: initialization and data by a two-way random-effects analysis of all pairs of seeds,
with the interaction as the residual; rounding by the mean squared difference of runs of the same
seeds in two orders, divided by two. Intervals are percentile bootstrap intervals that draw the
seeds of both kinds anew. A run counts whether or not it solved its task.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("pilot", "placebo", "vmap", "reference", "smoke")

SEEDS = 10
# The rate of the pilot at which exact match at twice the training length is nearest to the middle
# of 0.2 and 0.8 (0.22, 0.35, 0.57 and 0.84, medians of two seeds): neither 0 nor 1 can vary.
RATES = {"rope": 1e-2, "t5_bias": 3e-3, "alibi": 6e-3, "fire": 1e-3}
PILOT_RATES = (1e-3, 3e-3, 6e-3, 1e-2)


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=1500, batch_size=32, max_length=8, warmup_steps=50)
    c.evaluate.update(lengths=(8, 9, 10, 12, 16, 24), curve_every=250, curve_lengths=(8, 12, 16))
    if form == "vmap":
        c.execution.members = "vmap"
    if form == "reference":
        c.execution.kernels = "reference"
    if form == "smoke":
        c.train.update(steps=20, batch_size=8, warmup_steps=5)
        c.evaluate.update(num_examples=16, batch_size=16, curve_every=20, curve_examples=16)
    return c


def sweep(form=""):
    if form == "pilot":
        encodings = {"model.encodings": [(dict(name=name),) for name in RATES]}
        return grid.product(encodings, {"train.learning_rate": PILOT_RATES}, {"seed": range(2)})
    encodings = [_with_rate((dict(name=name),), name) for name in RATES]
    variants = grid.product(grid.concat(*encodings), {"positions": [dict(name="contiguous")]})
    if form == "placebo":
        variants += _placebos()
    seeds = {"seed": range(1 if form == "smoke" else SEEDS)}
    if form in ("placebo", "vmap", "reference"):
        return grid.product(variants, seeds)
    return grid.product(variants, {"data_seed": range(1 if form == "smoke" else SEEDS)}, seeds)


def _placebos():
    halves = (dict(name="rope", heads=(0, 1)), dict(name="rope", heads=(2, 3)))
    in_halves = _with_rate(grid.labelled("rope, two halves", halves), "rope")
    encodings = [_with_rate((dict(name=name),), name) for name in RATES]
    shifted = {"positions": [dict(name="shifted", max_shift=32)]}
    placebos = grid.product(grid.concat(*encodings), shifted)
    return placebos + grid.product(in_halves, {"positions": [dict(name="contiguous")]})


def _with_rate(encodings, name):
    rate = grid.labelled("", RATES[name])
    return grid.product({"model.encodings": [encodings], "train.learning_rate": [rate]})


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    question = (
        "How much of a difference between two encodings comes from the initialization, from the "
        "data and from rounding?"
    )
    contrasts = [("shifted(max_shift=32)", "contiguous"), ("rope, two halves", "rope · contiguous")]
    return dict(question=question, contrasts=tuple(contrasts if form == "placebo" else ()))
