"""How should a code meet its token: added, concatenated and projected back, or multiplied, and how
loud may it be?

    pe-lab sweep configs/combine.py
    pe-lab sweep configs/combine.py:smoke  # a small form

Sinusoidal codes and a learned table that starts with the same rms, 0.71 of a token's, times a scale
from 0.03 to 10; at scale 1 also in narrow models, where tokens and codes have less room to be
orthogonal in. The quickstart's copy, 800 steps. 240 runs, 25 minutes on two cores. What comes out:
results/published/combine/README.md.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=800, batch_size=32, max_length=8, learning_rate=6e-3, warmup_steps=50)
    c.evaluate.update(lengths=(4, 8, 10, 12), curve_every=100, curve_lengths=(8,))
    if form == "smoke":
        c.train.update(steps=20, batch_size=8)
        c.evaluate.update(
            lengths=(4, 8), num_examples=32, batch_size=32, curve_every=20, curve_examples=32
        )
    return c


def sweep(form=""):
    encodings = [
        grid.labelled("sinusoidal", (dict(name="sinusoidal"),)),
        grid.labelled(
            "learned", (dict(name="learned", max_positions=2 * 12 + 2, init_std=0.5**0.5),)
        ),
    ]
    combined, scales, widths = (
        ["add", "concat", "multiply"],
        [0.03, 0.1, 0.3, 1.0, 3.0, 10.0],
        [16, 32],
    )
    if form == "smoke":
        encodings, combined, scales, widths = encodings[1:], combined[:2], scales[:1], []
    codes = grid.product({"model.encodings": encodings, "model.encodings.0.combine": combined})
    loudness = grid.product(codes, {"model.encodings.0.scale": scales, "model.width": [64]})
    narrow = grid.product(codes, {"model.encodings.0.scale": [1.0], "model.width": widths})
    return grid.product(grid.concat(loudness, narrow), {"seed": range(1 if form == "smoke" else 5)})


def analysis():
    rows = dict(rows="model.encodings.0.combine", each="model.encodings")
    by_scale = dict(rows, columns="model.encodings.0.scale", only={"model.width": "64"})
    by_width = dict(rows, columns="model.width", only={"model.encodings.0.scale": "1.0"})
    return dict(
        question="Added, concatenated or multiplied, and how loud: when does a model still learn "
        "to copy what it was shown?",
        extrapolation=dict(at=1, threshold=0.99),
        contrasts=(("add", "concat"), ("add", "multiply")),
        tables=(
            dict(
                by_scale,
                title="Exact match at the training length, by scale",
                metric=dict(name="exact_match", at=1),
            ),
            dict(
                by_scale, title="Loss on trained lengths, by scale", metric="in_distribution_loss"
            ),
            dict(by_scale, title="Solved seeds, by scale", metric="solved"),
            dict(
                by_width,
                title="Exact match at the training length, by width",
                metric=dict(name="exact_match", at=1),
            ),
        ),
    )
