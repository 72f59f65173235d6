"""How the cost of a step grows with tokens, width and heads: the decoder of configs/engine.py, one
thing changed at a time.

    taskset -c 0 python -m experiments.benchmark --compare --steps=5 --config=configs/scaling.py

A step has 8,192 tokens whatever their number in a context, so that equal times are equal costs a
token. Contexts of 2 n + 2 tokens. The record is described in docs/performance.md.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

TOKENS = (64, 128, 256, 512, 1024, 2048)
WIDTHS = (32, 64, 128, 256, 512)
HEADS = (1, 2, 4, 8, 16)
STEP = 8192  # tokens


def get_config():
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="reverse")
    c.model.update(
        num_layers=5,
        width=64,
        feedforward_width=256,
        num_heads=8,
        activation="relu",
        encodings=(dict(name="nope"),),
    )
    c.train.update(
        batch_size=STEP // TOKENS[0], min_length=TOKENS[0] // 2 - 1, max_length=TOKENS[0] // 2 - 1
    )
    c.evaluate.update(lengths=(19,), curve_lengths=(19,))
    return c


def _silently(values):
    return [grid.labelled("", value) for value in values]


def sweep():
    lengths = [n // 2 - 1 for n in TOKENS]
    tokens = grid.zipped(
        {
            "train.min_length": [
                grid.labelled(f"{n} tokens", length)
                for n, length in zip(TOKENS, lengths, strict=True)
            ]
        },
        {"train.max_length": _silently(lengths)},
        {"train.batch_size": _silently(STEP // n for n in TOKENS)},
    )
    widths = grid.zipped(
        {"model.width": [grid.labelled(f"width {n}", n) for n in WIDTHS]},
        {"model.feedforward_width": _silently(4 * n for n in WIDTHS)},
    )
    return grid.concat(
        tokens,
        widths,
        grid.product({"model.num_heads": [grid.labelled(f"{n} heads", n) for n in HEADS]}),
    )
