"""The smallest decoder that is worth looking at: 20 thousand parameters.

    pe-lab train configs/toy.py

One run, about half a minute on one core. RoPE copies eight of sixteen symbols.
"""

from pe_lab.studies import base


def get_config():
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=16)
    c.model.update(width=32, num_heads=2, feedforward_width=80, encodings=(dict(name="rope"),))
    c.train.update(steps=1500, batch_size=32, max_length=8, learning_rate=6e-3)
    c.evaluate.update(lengths=(4, 8, 12, 16), curve_lengths=(8,))
    return c
