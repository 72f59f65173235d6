"""Which encodings learn to copy, and which still copy beyond their training length?

    make quickstart        (python -m experiments.sweep --config=configs/quickstart.py)

39 runs. Expected: results/published/quickstart/README.md.
"""

from configs import base
from pe_lab.sweeps import grid


def get_config():
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=900, batch_size=32, max_length=8, learning_rate=4e-3)
    c.evaluate.update(lengths=(4, 8, 10, 12, 16, 24), num_examples=512, curve_every=300, curve_lengths=(8, 16))
    return c


def sweep():
    longest = 2 * 8 + 2  # tokens of a training example: where the learned table ends
    encodings = [
        (dict(name="nope"),),
        (dict(name="raw_index"),),
        (dict(name="binary"),),
        (dict(name="single_sine"),),
        (dict(name="multi_sine"),),
        (dict(name="sinusoidal"),),
        grid.labelled("learned", (dict(name="learned", max_positions=longest),)),
        (dict(name="shaw"),),
        (dict(name="rope"),),
        (dict(name="t5_bias"),),
        (dict(name="alibi"),),
    ]
    return grid.product({"model.encodings": encodings}, {"seed": range(3)})
