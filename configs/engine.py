"""How fast training runs on this machine: the model of Ruoss et al. on reverse, against the
machine's own matrix product.

    taskset -c 0 python -m experiments.benchmark --compare --steps=9 --config=configs/engine.py

Five layers, width 64, 8 heads, batch 128, strings of 1 to 40 symbols (contexts of 4 to 82 tokens),
or all of 19 (40 tokens). One core: a sweep has a worker on each. docs/performance.md shows the
results, which are in results/published/engine.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

ENCODINGS = ("nope", "sinusoidal", "learned", "rope", "alibi", "t5_bias")


def get_config():
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="reverse")
    c.model.update(num_layers=5, num_heads=8, activation="relu")
    c.train.update(batch_size=128, min_length=19, max_length=19)
    c.evaluate.update(lengths=(19,), curve_lengths=(19,))
    return c


def sweep():
    lengths = grid.zipped({"train.min_length": [19, 1]}, {"train.max_length": [19, 40]})
    return grid.product(lengths, {"model.encodings": [(dict(name=name),) for name in ENCODINGS]})
