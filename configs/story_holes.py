"""Does a smooth embedding help at positions that training never shows, between those it shows?

    pe-lab sweep configs/story_holes.py
    pe-lab sweep configs/story_holes.py:smoke  # a small form

Copy of up to 8 of 24 symbols. Training leaves positions out: every third one, or the last 4 of each
12. Tests have the same lengths, and an offset moves their positions: 0 and 12 to trained ones, 3 to
trained ones where every third is left out, 1 and 4 into holes. Distances do not change, so that
`rope` cannot notice an offset: it is the control. 144 runs of about 18 seconds of one core.

Declared before the runs, at offset 1 in each pattern, at the rate that validation chooses:
- `sinusoidal` - `learned(init_std=0.7)` and `multi_sine` - `binary`: smooth against not smooth;
- `sinusoidal` - `rope`: the loss that is left;
- `learned(init_std=0.7)` - `learned`: scale alone.
Verdict: smoothness helps if the first two intervals lie above 0 in both patterns; it does not if
both contain 0 and are narrower than 0.2; otherwise the study is undecided. An encoding that does
not solve the trained positions says nothing.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)

RATES = (1e-3, 3e-3)
SEEDS = 6
OFFSETS = (0, 1, 3, 4, 12)
# With these starts, every tested position of offset 12 is a trained one.
PATTERNS = {"every third": dict(period=3, size=1), "blocks": dict(period=12, size=4)}
_MAX_SHIFT, _LAST_POSITION = 8, 39


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=24)
    c.train.update(steps=2000, batch_size=32, max_length=8, warmup_steps=100)
    c.evaluate.update(lengths=(4, 8), offsets=OFFSETS, curve_every=500, curve_lengths=(8,))
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(steps=12, batch_size=8, max_length=4, warmup_steps=2)
        c.evaluate.update(num_examples=16, batch_size=8, curve_every=6, curve_examples=8)
        c.evaluate.curve_lengths = (4,)
    return c


def sweep(form=""):
    learned = dict(name="learned", max_positions=_LAST_POSITION + 1)
    encodings = [(dict(name=name),) for name in ("sinusoidal", "multi_sine", "binary", "rope")]
    encodings += [
        grid.labelled("learned", (learned,)),
        grid.labelled("learned(init_std=0.7)", (dict(learned, init_std=0.7),)),
    ]
    patterns = [
        grid.labelled(name, dict(name="holes", max_shift=_MAX_SHIFT, **pattern))
        for name, pattern in PATTERNS.items()
    ]
    if form == "smoke":
        encodings, patterns = encodings[:1] + encodings[-1:], patterns[:1]
    rates = {"train.learning_rate": RATES[:1] if form == "smoke" else RATES}
    seeds = {"seed": range(1 if form == "smoke" else SEEDS)}
    return grid.product({"model.encodings": encodings, "positions": patterns}, rates, seeds)


def analysis():
    pairs = (
        ("sinusoidal", "learned(init_std=0.7)"),
        ("multi_sine", "binary"),
        ("sinusoidal", "rope"),
        ("learned(init_std=0.7)", "learned"),
    )
    return dict(
        question="Does a smooth embedding help at positions that training never shows?",
        extrapolation=dict(at=1, offset=1),
        contrasts=tuple(dict(a=a, b=b, at=1, offset=1) for a, b in pairs),
        tuned=("train.learning_rate",),
        tables=(
            dict(
                rows="model.encodings",
                columns="offset",
                each="positions",
                title="At the training length",
                metric=dict(name="exact_match", at=1),
                note="Offset 0: trained positions.",
            ),
        ),
    )
