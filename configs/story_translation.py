"""Are sinusoidal and learned embeddings alike, on a task like translation?

    pe-lab sweep configs/story_translation.py

An encoder–decoder translates sentences of `sentences` of up to 48 bytes into an invented language.
Vaswani et al. 2017 (https://arxiv.org/abs/1706.03762, table 3, row E) compare the two embeddings on
English and German and report nearly identical results. `learned` has its default scale and the
scale of a sinusoidal embedding. The study suite_grid declares the same equivalence within the
training lengths of its tasks. 36 runs of about a minute and a half of one core.

Declared before the runs, at the training length and at the rate that validation chooses: both
scales of `learned` are alike to `sinusoidal` if the interval of the difference in bits per byte
lies within 0.05. Verdict: alike, different
(the interval lies outside of the margin) or undecided.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

RATES = (1e-3, 3e-3)
SEEDS = 6
MARGIN = 0.05  # bits per byte


def get_config():
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="aligned_text", dataset="sentences", source="source", target="target")
    c.layout.name = "encoder_decoder"
    c.train.update(steps=2000, batch_size=32, min_length=22, max_length=48, warmup_steps=100)
    c.evaluate.update(
        lengths=(32, 48),
        validation_lengths=(32, 48),
        curve_every=500,
        curve_lengths=(48,),
    )
    return c


def sweep():
    learned = dict(name="learned", max_positions=64)
    encodings = [
        (dict(name="sinusoidal"),),
        grid.labelled("learned", (learned,)),
        grid.labelled("learned(init_std=0.7)", (dict(learned, init_std=0.7),)),
    ]
    rates = {"train.learning_rate": RATES}
    return grid.product({"model.encodings": encodings}, rates, {"seed": range(SEEDS)})


def analysis():
    return dict(
        question="Are sinusoidal and learned embeddings alike on a task like translation?",
        extrapolation=dict(at=1),
        contrasts=tuple(
            dict(a=learned, b="sinusoidal", at=1, margin=MARGIN)
            for learned in ("learned", "learned(init_std=0.7)")
        ),
        tuned=("train.learning_rate",),
    )
