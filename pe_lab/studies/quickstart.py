"""Which encodings learn to copy eight symbols, and which still copy when the string is longer?

    pe-lab sweep quickstart        # in a checkout: make quickstart
    pe-lab sweep quickstart:smoke  # a small form

13 variants, 39 runs, 4 to 7 minutes on two cores. `pe-lab report quickstart` shows what comes out
as one page. A checkout has a published form: results/published/quickstart/README.md.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=800, batch_size=32, max_length=8, learning_rate=6e-3, warmup_steps=50)
    c.evaluate.update(lengths=(4, 8, 10, 12, 16, 24), curve_every=200, curve_lengths=(8, 16))
    if form == "smoke":
        c.model.update(width=16, num_layers=1, num_heads=2, feedforward_width=16)
        c.train.update(steps=4, batch_size=8, max_length=4, warmup_steps=1)
        c.evaluate.update(lengths=(4, 8), num_examples=16, batch_size=8)
        c.evaluate.update(curve_every=2, curve_lengths=(4,), curve_examples=8)
    return c


def sweep(form=""):
    longest = 2 * 8 + 2  # tokens of the longest training example: where its learned table ends
    learned = dict(name="learned", max_positions=longest)
    encodings = [
        (dict(name="nope"),),
        (dict(name="raw_index"),),
        (dict(name="binary"),),
        (dict(name="single_sine"),),
        (dict(name="multi_sine"),),
        (dict(name="sinusoidal"),),
        grid.labelled("learned", (learned,)),
        grid.labelled("learned(init_std=0.7)", (dict(learned, init_std=0.7),)),
        (dict(name="shaw"),),
        (dict(name="rope"),),
        (dict(name="t5_bias"),),
        (dict(name="alibi"),),
    ]
    if form == "smoke":
        few = [(dict(name=name),) for name in ("shaw", "rope")]
        return grid.product({"model.encodings": few}, {"seed": range(1)})
    variants = grid.concat(
        grid.product({"model.encodings": encodings}),
        grid.product(
            {"model.encodings": [(dict(name="raw_index"),)], "positions": [dict(name="normalized")]}
        ),
    )
    return grid.product(variants, {"seed": range(3)})


def analysis():
    return dict(
        question="Which encodings learn to copy eight symbols, and which still copy at twice that "
        "length?",
        contrasts=(
            ("shaw", "t5_bias"),
            ("shaw", "rope"),
            ("t5_bias", "rope"),
            ("t5_bias", "alibi"),
            ("rope", "sinusoidal"),
        ),
    )
