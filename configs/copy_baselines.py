"""Which encodings learn to copy, and which still copy strings of two to four times the length?

    pe-lab sweep configs/copy_baselines.py
    pe-lab sweep configs/copy_baselines.py:smoke  # a small form

15 variants, 10 seeds, learning rates tuned over four values with three of the seeds: 285 runs, and
three more for each variant whose best rate is at an edge. Two and a half hours on two cores.

The symbols of a string are distinct. Shifted positions cover all tested positions in training, so
that a learned table is trained to its end. CoPE and PaTH are slow and are left out. The contrasts
below were declared before the runs.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

LONGEST = 64  # symbols; more than this many exist, because a string repeats none
TRAINED, TESTED = 2 * 16 + 2, 2 * LONGEST + 2  # tokens of the longest strings

tune = dict(axes={"train.learning_rate": (1e-3, 3e-3, 6e-3, 1e-2)}, seeds=3, extend=True)


def get_config(smoke=False):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=96)
    c.train.update(steps=6000, batch_size=32, max_length=16, warmup_steps=200)
    c.evaluate.update(lengths=(8, 16, 24, 32, 48, LONGEST), curve_every=500, curve_lengths=(16, 32))
    if smoke:
        c.train.update(steps=60, warmup_steps=10)
        c.evaluate.update(num_examples=64, batch_size=64, curve_every=60, curve_examples=64)
    return c


def sweep(smoke=False):
    contiguous = grid.labelled("", dict(name="contiguous"))
    shifted = grid.labelled("shifted", dict(name="shifted", max_shift=TESTED - TRAINED))
    randomized = grid.labelled("randomized", dict(name="randomized", maximum=2 * TESTED))
    learned = grid.labelled("learned", (dict(name="learned", max_positions=TESTED),))
    sinusoidal, rope = (dict(name="sinusoidal"),), (dict(name="rope"),)
    relative = ("alibi", "t5_bias", "kerple", "fire", "shaw", "transformer_xl")
    encodings = [sinusoidal, learned, rope]
    encodings += [(dict(name=name),) for name in ("xpos", *relative, "nope", "fox")]
    if smoke:
        encodings = encodings[:2]
    variants = grid.product({"model.encodings": encodings}, {"positions": [contiguous]})
    if not smoke:
        variants += grid.product({"model.encodings": [sinusoidal, learned], "positions": [shifted]})
        variants += grid.product({"model.encodings": [rope], "positions": [randomized]})
    return grid.product(variants, {"seed": range(1 if smoke else 10)})


def analysis():
    return dict(
        question="Which encodings learn to copy strings of up to 16 distinct symbols, and which "
        "still copy strings of 32 to 64?",
        contrasts=(
            ("shaw", "t5_bias"),
            ("shaw", "alibi"),
            ("shaw", "rope"),
            ("t5_bias", "alibi"),
            ("fire", "kerple"),
            ("nope", "alibi"),
            ("learned · shifted", "sinusoidal · shifted"),
            ("sinusoidal · shifted", "sinusoidal"),
            ("rope · randomized", "rope"),
        ),
    )
