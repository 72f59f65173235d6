"""Does copying extend until contexts repeat? Alphabets of 2 to 64 symbols, and distinct symbols.

    pe-lab sweep configs/alphabet.py
    pe-lab sweep configs/alphabet.py:smoke  # a small form

Copy of up to 16 symbols, tested to 64. A model that looks for the last symbols that it wrote finds
one place if the string has no repeat of this length, and several places in a string of two symbols.
Each encoding copies strings of 2, 4, 8, 16 and 64 symbols, whose symbols may repeat, and strings of
distinct symbols. Three learning rates and six seeds: 540 runs of about 35 seconds of one core.

`longest_repeat` is the length of the longest string that occurs at two places of the prompt; every
test has its exact match by this length.

Declared before the runs, for each encoding and at every rate on its own:
- 2 symbols against 64, 8 symbols against distinct ones and 64 symbols against distinct ones, at
  twice the training length;
- the difference of exact match between examples with a longest repeat above and below the median
  of the same test, at 1.5 and 2 times the training length, over the runs that solve the task. The
  expected sign is negative. The interval is a percentile bootstrap over the seeds.
Positions of the test occur in training with shifted positions, which is marked.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

RATES = (1e-3, 3e-3, 6e-3)
SEEDS = 6
ALPHABETS = (2, 4, 8, 16, 64)
DISTINCT = "distinct"
TRAINED, TESTED = 34, 130  # tokens of the longest example of training and of the test


def get_config(smoke=False):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.train.update(steps=4000, batch_size=32, max_length=16, warmup_steps=100)
    c.evaluate.update(
        lengths=(16, 18, 20, 24, 32, 48, 64), curve_every=250, curve_lengths=(16, 24, 32)
    )
    c.evaluate.attributes = ("longest_repeat",)
    if smoke:
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(steps=12, batch_size=8, max_length=4, warmup_steps=2)
        c.evaluate.update(lengths=(4, 6, 8, 16), curve_every=6, curve_lengths=(4,))
        c.evaluate.update(num_examples=16, batch_size=8, curve_examples=8)
    return c


def sweep(smoke=False):
    tasks = [
        grid.labelled(_name(size), dict(name="copy", num_symbols=size, distinct=False))
        for size in ALPHABETS
    ]
    tasks.append(grid.labelled(DISTINCT, dict(name="copy", num_symbols=96)))
    learned = dict(name="learned", max_positions=TESTED, init_std=0.7)
    contiguous = grid.labelled("", dict(name="contiguous"))
    shifted = grid.labelled("shifted", dict(name="shifted", max_shift=TESTED - TRAINED))
    biases = [(dict(name=name),) for name in ("alibi", "kerple", "shaw", "t5_bias")]
    encodings = grid.concat(
        grid.product({"model.encodings": biases, "positions": [contiguous]}),
        grid.product(
            {
                "model.encodings": [grid.labelled("learned(init_std=0.7)", (learned,))],
                "positions": [shifted],
            }
        ),
    )
    if smoke:
        return grid.product(encodings[-1:], {"task": tasks[:1]}, {"seed": range(1)})
    rates = {"train.learning_rate": RATES}
    return grid.product(encodings, {"task": tasks}, rates, {"seed": range(SEEDS)})


def _name(size):
    return f"{size} symbols"


def analysis():
    by_rate = dict(rows="model.encodings", columns="task", each="train.learning_rate")
    return dict(
        question="Does copying extend until contexts repeat?",
        contrasts=(
            (_name(2), _name(64)),
            (_name(8), DISTINCT),
            (_name(64), DISTINCT),
        ),
        tables=(
            dict(
                by_rate,
                title="At twice the training length",
                metric=dict(name="exact_match", at=2, show="iqm"),
            ),
            dict(
                by_rate,
                title="At four times the training length",
                metric=dict(name="exact_match", at=4, show="iqm"),
            ),
            dict(by_rate, title="Solved seeds", metric="solved"),
            dict(by_rate, title="Seeds that extrapolate", metric="extrapolates"),
        ),
    )
