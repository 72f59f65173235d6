"""Which encodings still read a text when the window is longer than in training?

    pe-lab sweep configs/papers/lm_extrapolation.py
    pe-lab sweep configs/papers/lm_extrapolation.py:scaled  # about 20 minutes
    pe-lab sweep configs/papers/lm_extrapolation.py:smoke   # a small form

Training has windows of 128 bytes, and the test has windows of up to 1024. The text is `stories`,
which code makes, so it is equal on every machine. Names, facts and brackets of a story depend on
text that is far back. Look at the rows of negative_log_likelihood_by_place:
pe_lab/metrics/negative_log_likelihood_by_place.py computes bits per byte from them, for windows
that do not overlap and for sliding ones. Exact match is not informative here.

The question of Press et al. 2021 (https://arxiv.org/abs/2108.12409) at a small size, not their
protocol. Their claims are tested on real text (configs/real_text.py). 45 runs, about 70 minutes on
two cores.

Compared with the authors' code, ofirpress/attention_with_linear_biases at 4b92f28: README.md.

Differs:
- The authors train transformer_lm_wiki103 (16 layers) for 286,000 updates on WikiText-103, in
  windows of 64 to 3072 tokens. Here 2 layers read bytes in windows of one length.
- The authors compare sinusoids, rotary positions, T5's bias and ALiBi. KERPLE, FIRE, learned
  positions and none are added. Learned positions start with BERT's 0.02, where tokens have 1, and
  in a second variant with the rms of sinusoids.
- No figure of the paper was read.

Scaled: windows of 64 bytes, tested to 512, 800 steps.
"""

from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke", "scaled")

LENGTH = 128  # bytes of a window in training


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.task = dict(name="language_model", dataset="stories")
    c.layout.end_token = False  # a window ends anywhere
    c.train.update(
        steps=1500, batch_size=32, min_length=LENGTH, max_length=LENGTH, learning_rate=3e-3
    )
    c.evaluate.update(lengths=(LENGTH, 256, 512, 1024), num_examples=128, batch_size=8)
    c.evaluate.update(curve_every=1000, curve_lengths=(LENGTH,), curve_examples=64)
    if form == "scaled":
        c.train.update(steps=800, min_length=64, max_length=64)
        c.evaluate.update(lengths=(64, 128, 256, 512), curve_every=400, curve_lengths=(64,))
    if form == "smoke":
        c.task = dict(name="language_model", path="README.md")
        c.model.update(width=16, num_layers=1, num_heads=2, feedforward_width=32)
        c.train.update(steps=20, batch_size=8, min_length=16, max_length=16)
        c.evaluate.update(
            lengths=(16, 32), num_examples=8, curve_every=20, curve_lengths=(16,), curve_examples=8
        )
    return c


def sweep(form=""):
    # The separator and all bytes but the last follow the token that begins.
    tokens = 1 + (64 if form == "scaled" else LENGTH)
    encodings = [
        (dict(name="nope"),),
        (dict(name="sinusoidal"),),
        grid.labelled("learned", (dict(name="learned", max_positions=tokens),)),
        grid.labelled(
            "learned, with the rms of sinusoidal",
            (dict(name="learned", max_positions=tokens, init_std=0.5**0.5),),
        ),
        (dict(name="rope"),),
        (dict(name="alibi"),),
        (dict(name="kerple"),),
        (dict(name="t5_bias"),),
        (dict(name="fire"),),
    ]
    if form == "smoke":
        encodings = [(dict(name="rope"),)]
    return grid.product(
        {"model.encodings": encodings}, {"seed": range(1 if form == "smoke" else 5)}
    )


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    return dict(
        question="Which encodings still read a text when the window is longer than those of "
        "training?",
        contrasts=(("alibi", "sinusoidal"), ("alibi", "rope"), ("t5_bias", "rope")),
    )
