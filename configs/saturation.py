"""Does training cover the logits of the test? Relative encodings whose range ends early or late.

    pe-lab sweep configs/saturation.py
    pe-lab sweep configs/saturation.py:smoke  # a small form

Copy of up to 16 distinct symbols, tested to 64. Training has distances up to 33 tokens. A relative
encoding that is constant beyond a smaller distance meets no untrained logit in a longer string, and
an encoding that still changes there does. 20 variants, three learning rates and six seeds: 360 runs
of about 35 seconds of one core.

Declared before the runs, each at every rate on its own:
- `shaw` with clip 16 against clip 64: a table that training reaches against one that it does not;
- `t5_bias` with (num_buckets, max_distance) = (32, 32) against (32, 128);
- `t5_bias` with a table for each layer against a table that the layers share;
- Spearman's rank correlation, over the 20 variants, of two numbers: the share of the attention
  logits at twice the training length that read a parameter or an angle that training never showed
  (an angle of a pair that completes no period within the distances of training), and the area under
  exact match over log2(length) from 1x to 4x, as the mean over the rates and seeds that solve the
  task. The expected sign is negative. The interval is a percentile bootstrap over the seeds.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke",)

RATES = (1e-3, 3e-3, 6e-3)
SEEDS = 6
CLIPS = (4, 8, 16, 32, 64)
BUCKETS = ((16, 16), (32, 32), (32, 128))


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="copy", num_symbols=96)
    c.train.update(steps=4000, batch_size=32, max_length=16, warmup_steps=100)
    c.evaluate.update(
        lengths=(16, 18, 20, 24, 32, 48, 64), curve_every=250, curve_lengths=(16, 24, 32)
    )
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(steps=12, batch_size=8, max_length=4, warmup_steps=2)
        c.evaluate.update(lengths=(4, 6, 8, 16), curve_every=6, curve_lengths=(4,))
        c.evaluate.update(num_examples=16, batch_size=8, curve_examples=8)
    return c


def sweep(form=""):
    encodings = [_labelled(f"shaw(clip={clip})", dict(name="shaw", clip=clip)) for clip in CLIPS]
    for num_buckets, max_distance in BUCKETS:
        t5_bias = dict(name="t5_bias", num_buckets=num_buckets, max_distance=max_distance)
        label = f"t5_bias({num_buckets}, {max_distance})"
        encodings.append(_labelled(f"{label}, shared", t5_bias))
        encodings.append(_labelled(f"{label}, by layer", dict(t5_bias, share=False)))
    encodings += [(dict(name="alibi"),), (dict(name="alibi", learn_slopes=True),)]
    encodings += [(dict(name="kerple"),), (dict(name="kerple", form="power"),)]
    encodings += [(dict(name="fire"),)]
    for rope_base in (10.0, 1e4):
        for fraction in (0.25, 1.0):
            encodings.append((dict(name="rope", base=rope_base, fraction=fraction),))
    if form == "smoke":
        encodings = encodings[:2]
    rates = {"train.learning_rate": RATES[:1] if form == "smoke" else RATES}
    seeds = {"seed": range(1 if form == "smoke" else SEEDS)}
    return grid.product({"model.encodings": encodings}, rates, seeds)


def _labelled(label, encoding):
    return grid.labelled(label, (encoding,))


def analysis():
    narrow, wide = "t5_bias(32, 32)", "t5_bias(32, 128)"
    contrasts = [("shaw(clip=16)", "shaw(clip=64)")]
    contrasts += [(f"{narrow}, {layers}", f"{wide}, {layers}") for layers in ("shared", "by layer")]
    for num_buckets, max_distance in BUCKETS:
        label = f"t5_bias({num_buckets}, {max_distance})"
        contrasts.append((f"{label}, by layer", f"{label}, shared"))
    by_rate = dict(rows="model.encodings", columns="train.learning_rate")
    return dict(
        question="Does an encoding extend further if training covers the logits of the test?",
        contrasts=tuple(contrasts),
        tables=(
            dict(
                by_rate,
                title="At twice the training length",
                metric=dict(name="exact_match", at=2, show="iqm"),
            ),
            dict(
                by_rate,
                title="At four times the training length",
                metric=dict(name="exact_match", at=4, show="iqm"),
            ),
            dict(by_rate, title="Solved seeds", metric="solved"),
            dict(by_rate, title="Seeds that extrapolate", metric="extrapolates"),
        ),
    )
