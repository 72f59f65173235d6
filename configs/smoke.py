"""Does everything work? Two encodings, two seeds, tiny.

    pe-lab sweep configs/smoke.py

4 runs, under a minute on two cores. Expected: RoPE and ALiBi mostly copy four symbols of eight.
"""

from pe_lab.runs import grid
from pe_lab.studies import base


def get_config():
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=8)
    c.model.update(width=32, num_heads=2, feedforward_width=64)
    c.train.update(steps=300, batch_size=32, max_length=4, learning_rate=5e-3)
    c.evaluate.update(
        lengths=(2, 4, 6), num_examples=128, batch_size=128, curve_every=100, curve_lengths=(4,)
    )
    return c


def sweep():
    return grid.product(
        {"model.encodings": [(dict(name="rope"),), (dict(name="alibi"),)]},
        {"seed": range(2)},
    )
