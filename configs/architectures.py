"""One task, three architectures: decoder, encoder and encoder–decoder on copy and reverse.

    pe-lab sweep configs/architectures.py
    pe-lab sweep configs/architectures.py:smoke  # a small form

An encoder reveals the target length and is not ranked with the others. The symbols of copy are
distinct and the symbols of reverse may repeat, so the tasks differ in more than direction. 140
runs, about 15 minutes on two cores. What comes out: results/published/architectures/README.md.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=1000, batch_size=32, max_length=8, learning_rate=4e-3, warmup_steps=50)
    c.evaluate.update(lengths=(4, 8, 10, 12, 16), curve_every=200, curve_lengths=(8,))
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=32)
        c.train.update(steps=20, batch_size=8)
        c.evaluate.update(lengths=(8, 16), num_examples=32, batch_size=32, curve_examples=32)
    return c


def sweep(form=""):
    layouts = ["decoder", "encoder", "encoder_decoder"]
    tasks = [grid.labelled(name, dict(name=name, num_symbols=24)) for name in ("copy", "reverse")]
    encodings = [(dict(name="sinusoidal"),), (dict(name="rope"),)]
    across = grid.labelled(
        "rope, in cross-attention too", (dict(name="rope", stacks=("encoder", "decoder", "cross")),)
    )
    if form == "smoke":
        tasks, encodings = tasks[1:], encodings[1:]
    variants = grid.concat(
        grid.product({"layout.name": layouts, "task": tasks, "model.encodings": encodings}),
        grid.product({"layout.name": layouts[2:], "task": tasks, "model.encodings": [across]}),
    )
    return grid.product(variants, {"seed": range(1 if form == "smoke" else 10)})


def analysis():
    across = "rope, in cross-attention too"
    return dict(
        question="What do decoder, encoder and encoder–decoder make of the same encodings, on copy "
        "and on reverse?",
        extrapolation=dict(at=1.5),
        contrasts=(
            (f"encoder_decoder · copy · {across}", "encoder_decoder · copy · rope"),
            ("encoder_decoder", "decoder"),
        ),
        tables=(
            dict(
                rows="model.encodings",
                columns="layout.name",
                each="task",
                metric=dict(name="exact_match", at=1.5),
            ),
        ),
    )
