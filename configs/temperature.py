"""Does sharper attention at greater length help, and with which encoding? Encodings x logit
temperature, on copy.

    pe-lab sweep configs/temperature.py
    pe-lab sweep configs/temperature.py:smoke  # a small form

90 runs, about 8 minutes on two cores. What comes out: results/published/temperature/README.md.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=800, batch_size=32, max_length=8, learning_rate=6e-3, warmup_steps=50)
    c.evaluate.update(lengths=(8, 10, 12, 16, 24), curve_every=400, curve_lengths=(8,))
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=32)
        c.train.update(steps=20, batch_size=8)
        c.evaluate.update(lengths=(8, 16), num_examples=32, batch_size=32, curve_examples=32)
    return c


def sweep(form=""):
    encodings = [(dict(name="alibi"),), (dict(name="t5_bias"),), (dict(name="rope"),)]
    temperatures = ["none", "log_n", "ssmax"]
    if form == "smoke":
        encodings, temperatures = encodings[:1], temperatures[1:]
    return grid.product(
        {"model.encodings": encodings, "model.logit_temperature": temperatures},
        {"seed": range(1 if form == "smoke" else 10)},
    )


def analysis():
    return dict(
        question="Does sharper attention at greater length help, and with which encoding?",
        extrapolation=dict(at=1.5),
        contrasts=(("ssmax", "none"), ("log_n", "none")),
        tables=(
            dict(
                rows="model.encodings",
                columns="model.logit_temperature",
                metric=dict(name="exact_match", at=1.5),
            ),
        ),
    )
