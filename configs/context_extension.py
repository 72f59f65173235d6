"""RoPE beyond its training length: scaled at evaluation only, and after fine-tuning on twice the
length.

    pe-lab sweep configs/context_extension.py
    pe-lab sweep configs/context_extension.py:smoke  # a small form

Every run trains on strings of up to 8 symbols and is evaluated with each scaling by two. Then each
seed is trained on from its own run for a quarter of the steps, on up to 16 symbols, with each
scaling and with none. 60 runs, about 5 minutes on two cores. What comes out:
results/published/context_extension/README.md.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)

_TOKENS = 18  # of the longest training example: begin, 8 symbols, separator, 8 symbols


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=800, batch_size=32, max_length=8, learning_rate=6e-3, warmup_steps=50)
    c.evaluate.update(lengths=(8, 12, 16, 24), curve_every=200, curve_lengths=(8,))
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=32)
        c.train.update(steps=20, batch_size=8)
        c.evaluate.update(lengths=(8, 16), num_examples=32, batch_size=32, curve_examples=32)
    return c


def sweep(form=""):
    scalings = {
        "linear": dict(name="rope", scaling="linear", factor=2.0),
        "NTK-aware": dict(name="rope", scaling="ntk", factor=2.0),
        "YaRN": dict(name="rope", scaling="yarn", factor=2.0, trained_length=_TOKENS),
        "Llama 3": dict(name="rope", scaling="llama3", factor=2.0, trained_length=_TOKENS),
    }
    if form == "smoke":
        scalings = {"linear": scalings["linear"]}
    changes = tuple(dict(label=name, encodings=(spec,)) for name, spec in scalings.items())
    trained = grid.product(
        {
            "model.encodings": [(dict(name="rope"),)],
            "evaluate.overrides": [grid.labelled("", changes)],
        }
    )
    tuned = grid.product(
        {
            "model.encodings": [
                grid.labelled(f"tuned: {name}", (s,))
                for name, s in {"no scaling": dict(name="rope"), **scalings}.items()
            ]
        },
        {
            "init_from": [grid.labelled("", dict(select=dict(model=dict(encodings="rope"))))],
            "train.steps": [grid.labelled("", 10 if form == "smoke" else 200)],
            "train.max_length": [grid.labelled("", 16)],
            "train.learning_rate": [grid.labelled("", 1e-3)],
        },
    )
    return grid.product(grid.concat(trained, tuned), {"seed": range(1 if form == "smoke" else 10)})


def analysis():
    trained, tuned = "rope, evaluated with {}", "tuned: {}"
    return dict(
        question="Does scaling RoPE's angles by two reach twice the length: at evaluation only, "
        "and after fine-tuning?",
        contrasts=(
            dict(a=trained.format("YaRN"), b="rope", at=2),
            dict(a=trained.format("Llama 3"), b="rope", at=2),
            dict(a=trained.format("NTK-aware"), b="rope", at=1.5),
            *(
                dict(a=tuned.format(name), b=tuned.format("no scaling"), length=24)
                for name in ("YaRN", "Llama 3")
            ),
        ),
    )
