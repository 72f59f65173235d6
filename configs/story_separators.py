"""What can a static position not do? The k-th item of a list whose items have several widths.

    pe-lab sweep configs/story_separators.py
    pe-lab sweep configs/story_separators.py:longer  # four times the steps
    pe-lab sweep configs/story_separators.py:smoke  # a small form

The task `item_after_separator`: lists of up to 8 items of 1 to 4 tokens, tested with longer lists
and with items of up to 8 tokens. Positions count tokens or separators; `cope` and `fox` count by
content. 72 runs of about 25 seconds of one core.

Declared before the runs, at the training length and with items of up to 8 tokens, at the rate that
validation chooses: separators - tokens for `sinusoidal` and for `rope`, and `cope` and `fox`
against `rope` on tokens. Verdict: a static position of tokens cannot do the task if both intervals
with wide items lie above 0 although `rope` on tokens solves the training widths; if it does not
solve them, it could not even learn it.

No variant solves the training widths in 1,500 steps, and some seeds still improve then. The form
`longer`, declared after this and before its first run, asks the same with 6,000 steps and the rates
0.0003 and 0.001, because 0.003 was the worse rate of all variants but one.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("longer", "smoke")

RATES, RATES_LONGER = (1e-3, 3e-3), (3e-4, 1e-3)
SEEDS = 6
WIDE = "wide items"  # the label of an evaluation


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="item_after_separator", max_width=4, max_index=7)
    c.train.update(steps=1500, batch_size=32, min_length=2, max_length=8, warmup_steps=50)
    c.evaluate.update(
        lengths=(4, 8, 12, 16),
        overrides=(dict(label=WIDE, task=dict(max_width=8)),),
        curve_every=250,
        curve_lengths=(8,),
    )
    if form == "longer":
        c.train.steps = 6000
        c.evaluate.curve_every = 500
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(steps=12, batch_size=8, max_length=4, warmup_steps=2)
        c.evaluate.update(num_examples=16, batch_size=8, curve_every=6, curve_examples=8)
        c.evaluate.update(lengths=(4, 8), curve_lengths=(4,))
    return c


def sweep(form=""):
    tokens = grid.labelled("tokens", dict(name="contiguous"))
    separators = grid.labelled("separators", dict(name="separators"))
    by_position = [(dict(name="sinusoidal"),), (dict(name="rope"),)]
    by_content = [(dict(name=name),) for name in ("cope", "fox")]
    if form == "smoke":
        by_position, by_content = by_position[:1], by_content[:1]
    variants = grid.concat(
        grid.product({"model.encodings": by_position, "positions": [tokens, separators]}),
        grid.product({"model.encodings": by_content, "positions": [tokens]}),
    )
    rates = RATES_LONGER if form == "longer" else RATES
    rates = {"train.learning_rate": rates[:1] if form == "smoke" else rates}
    return grid.product(variants, rates, {"seed": range(1 if form == "smoke" else SEEDS)})


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    of_wide = f", evaluated with {WIDE}"
    contrasts = []
    for a, b in (
        ("sinusoidal · separators", "sinusoidal · tokens"),
        ("rope · separators", "rope · tokens"),
        ("cope · tokens", "rope · tokens"),
        ("fox · tokens", "rope · tokens"),
    ):
        contrasts.append(dict(a=a, b=b, at=1))
        contrasts.append(dict(a=a + of_wide, b=b + of_wide, at=1))
    return dict(
        question="What can a position that counts tokens not do?",
        extrapolation=dict(at=1),
        contrasts=tuple(contrasts),
        tuned=("train.learning_rate",),
    )
