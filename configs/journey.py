"""From a bare count to a distance: how each step in the story of position encodings learns and
extrapolates.

    pe-lab sweep configs/journey.py
    pe-lab sweep configs/journey.py:smoke  # a small form

No position, the raw index, the index divided by the length, its bits, one sine, many sines, pairs
of sine and cosine, a learned table that starts at the scale of BERT or of sinusoids, clipped
distances (Shaw et al. 2018); copy, reverse, parity and addition; a decoder, and an encoder, which
reveals the target length. The symbols of copy are
distinct and the symbols of reverse may repeat, so these tasks differ in more than direction; parity
of up to 8 bits has few inputs, which training nearly covers. Every run is also measured at 1.5 and
2 times the training length, and with all positions shifted: by 1, which training mostly showed, and
by 32, which it did not. 400 runs, about an hour on two cores. What comes out:
results/published/journey/README.md.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)

ENCODINGS = (
    "nope",
    "raw_index",
    "normalized",
    "binary",
    "single_sine",
    "multi_sine",
    "sinusoidal",
    "learned",
    "learned(init_std=0.7)",
    "shaw",
)
TASKS = {  # with the longest example of training, in the task's unit, and the steps that it takes
    "copy": (dict(name="copy", num_symbols=24), 8, 1500),
    "reverse": (dict(name="reverse", num_symbols=24), 8, 1500),
    "parity": (dict(name="parity"), 8, 1000),
    "addition": (dict(name="addition", reverse_operands=True, lengths="one_longest"), 4, 4000),
}
LONGEST = 2 * 16 + 2 + 32  # tokens of the longest test, copy of 16 symbols, and the largest shift


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.train.update(batch_size=32, learning_rate=4e-3, warmup_steps=50)
    c.evaluate.update(offsets=(0, 1, 32), curve_every=500)
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=32)
        c.train.update(batch_size=8)
        c.evaluate.update(
            offsets=(0, 32), num_examples=32, batch_size=32, curve_every=20, curve_examples=32
        )
    return c


def sweep(form=""):
    names, layouts, tasks = ENCODINGS, ["decoder", "encoder"], TASKS
    if form == "smoke":
        names, layouts, tasks = (
            ("normalized", "shaw"),
            layouts[1:],
            {"parity": (dict(name="parity"), 8, 20)},
        )
    return grid.product(
        grid.concat(*(_task(name, *of) for name, of in tasks.items())),
        {"layout.name": layouts},
        grid.concat(*map(_encoding, names)),
        {"seed": range(1 if form == "smoke" else 5)},
    )


def _task(name, task, longest, steps):
    """A task with its lengths and steps, under its name alone."""
    hidden = {
        "train.max_length": longest,
        "train.steps": steps,
        "evaluate.lengths": tuple(longest * k // 2 for k in (2, 3, 4)),
        "evaluate.curve_lengths": (longest,),
    }
    return grid.product(
        {"task": [grid.labelled(name, task)]},
        {path: [grid.labelled("", value)] for path, value in hidden.items()},
    )


def _encoding(name):
    """An encoding, or the raw index under normalized positions, under one name."""
    specs = {
        "normalized": dict(name="raw_index"),
        "learned": dict(name="learned", max_positions=LONGEST),
        "learned(init_std=0.7)": dict(name="learned", max_positions=LONGEST, init_std=0.7),
    }
    spec = specs.get(name, dict(name=name))
    scheme = dict(name="normalized" if name == "normalized" else "contiguous")
    return grid.product(
        {
            "model.encodings": [grid.labelled(name, (spec,))],
            "positions": [grid.labelled("", scheme)],
        }
    )


def analysis():
    by = dict(rows="model.encodings", columns="task", each="layout.name")
    copying = "copy · decoder · {}"
    return dict(
        question="What does each step, from no position to distances, learn, and what does it "
        "still do at unseen lengths and positions?",
        extrapolation=dict(at=1.5),
        contrasts=(
            *(
                (copying.format(a), copying.format(b))
                for a, b in (("sinusoidal", "raw_index"), ("sinusoidal", "binary"))
            ),
            *(
                (copying.format(a), copying.format(b))
                for a, b in (("sinusoidal", "single_sine"), ("shaw", "sinusoidal"))
            ),
        ),
        tables=(
            dict(by, title="At the training length", metric=dict(name="exact_match", at=1)),
            dict(
                by,
                title="At one and a half times the training length",
                metric=dict(name="exact_match", at=1.5),
            ),
            dict(
                by,
                title="At the training length, all positions moved by 1",
                metric=dict(name="exact_match", at=1, offset=1),
            ),
            dict(
                by,
                title="At the training length, all positions moved by 32",
                metric=dict(name="exact_match", at=1, offset=32),
            ),
            dict(
                rows="model.encodings", columns=("length", "offset"), each=("task", "layout.name")
            ),
        ),
    )
