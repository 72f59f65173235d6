"""Does copying extend until contexts repeat? Alphabets of 4, 16 and 64 symbols.

    pe-lab sweep configs/alphabet.py
    pe-lab sweep configs/alphabet.py:smoke  # a small form

Copy of up to 16 symbols, tested to 64. Symbols may repeat. A model that looks for the last symbols
that it wrote finds several places in a string of four symbols, and nearly always one place in a
string of 64. Four relative encodings, and convolutions of width 4 without a position encoding. Two
learning rates and six seeds: 180 runs of about 95 seconds of one core.

`longest_repeat` is the length of the longest string that occurs at two places of the prompt; every
test has its exact match by this length.

Declared before the runs, at the rate that validation chooses and at twice the training length:
- 4 symbols against 64, for each variant;
- convolutions without a position encoding against each encoding, for each alphabet.
Also declared, at twice the training length, for each alphabet and variant: the exact match of
examples whose longest repeat is above the median of the test, minus that of the others. It is a
mean over the solved runs at the chosen rate, with Student's interval over seeds. The expected sign
is negative. An alphabet of which a side has less than a tenth of the examples is not used.

A part of an earlier design, ALiBi on distinct symbols, was trained on a GPU and does not belong to
this one. Its records had not been read when this design was committed.
"""

from configs import convolution
from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)

RATES = (1e-3, 3e-3)
SEEDS = 6
ALPHABETS = (4, 16, 64)
ENCODINGS = ("alibi", "kerple", "shaw", "t5_bias")


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.train.update(steps=4000, batch_size=32, max_length=16, warmup_steps=100)
    c.evaluate.update(
        lengths=(16, 18, 20, 24, 32, 48, 64), curve_every=250, curve_lengths=(16, 24, 32)
    )
    c.evaluate.attributes = ("longest_repeat",)
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(steps=12, batch_size=8, max_length=4, warmup_steps=2)
        c.evaluate.update(lengths=(4, 6, 8, 16), curve_every=6, curve_lengths=(4,))
        c.evaluate.update(num_examples=16, batch_size=8, curve_examples=8)
    return c


def sweep(form=""):
    tasks = [
        grid.labelled(_name(size), dict(name="copy", num_symbols=size, distinct=False))
        for size in ALPHABETS
    ]
    without = grid.labelled("", ())
    sites = grid.labelled(convolution.WITH, convolution.SITES[convolution.WITH])
    rows = grid.concat(
        grid.product(
            {
                "model.encodings": [(dict(name=name),) for name in ENCODINGS],
                "model.convolution_sites": [without],
            }
        ),
        grid.product(
            {"model.encodings": [(dict(name="nope"),)], "model.convolution_sites": [sites]}
        ),
    )
    if form == "smoke":
        return grid.product(rows[-1:], {"task": tasks[:1]}, {"seed": range(1)})
    rates = {"train.learning_rate": RATES}
    return grid.product(rows, {"task": tasks}, rates, {"seed": range(SEEDS)})


def _name(size):
    return f"{size} symbols"


def analysis():
    nope = f"nope · {convolution.WITH}"
    by_alphabet = dict(rows=("model.encodings", "model.convolution_sites"), columns="task")
    return dict(
        question="Does copying extend until contexts repeat?",
        contrasts=(
            (_name(4), _name(64)),
            *((nope, encoding) for encoding in ENCODINGS),
        ),
        tuned=("train.learning_rate",),
        tables=(
            dict(
                by_alphabet,
                title="At twice the training length",
                metric=dict(name="exact_match", at=2, show="iqm"),
            ),
            dict(by_alphabet, title="Solved seeds", metric="solved"),
            dict(by_alphabet, title="Seeds that extrapolate", metric="extrapolates"),
        ),
    )
