"""Which encodings still read real text when the context is longer than in training?

    pe-lab text django==5.2 --include='docs/*.txt' --include='django/*.py' \\
      --hash=sha256:1a47f7a7a3d43ce64570d350e008d2949abe8c7e21737b351b6a1611277c6d89
    pe-lab sweep configs/real_text.py
    pe-lab sweep configs/real_text.py:pilot  # two encodings, one seed
    pe-lab sweep configs/real_text.py:smoke  # a small form

The text is the documentation and the sources in Django's source distribution: English and Python,
1,351 different documents and 11.7 MB, split by document. Models have two layers and width 128. They
train on windows of 256 bytes within documents, and the test scores the same 32,768 bytes with 256,
512, 1,024 and 2,048 bytes of context within a document: the last 128 bytes of 256 windows. So an
effect of the length is no effect of other bytes. Learned positions train with shifts, so that all
their positions are trained. The last row has convolutions of width 4 and no position encoding.

Twelve rows, two rates and five seeds: 120 runs. A run has 1.4e13 FLOPs in training and 2e12 in its
test. In the pilot, a step of a run took 0.22 core-seconds: 8 to 10 core-hours in all. A first
design, with three rates and twice the batch, would take 24 to 31, and was replaced before any run.
The fifth seed was added when two run groups had trained half of their steps, and before any test: a
claim of a paper needs five.

Declared before the runs. All numbers are bits per byte on the same bytes, at the rate that
validation chooses for a row; an interval is that of the tables, over five seeds:
- The order of Press et al. (ALiBi, T5's bias, RoPE, sinusoidal) at 2 and 4 times the training
  length, as claims. Each is decided by the interval of its difference.
- A row gains from context if the interval of its median gain at four times the training length is
  above 0, and loses if it is below 0. Expected: ALiBi, ALiBi with learned slopes, KERPLE and FoX
  gain; RoPE, sinusoidal and NoPE lose.
- A quarter of rotated pairs helps: rope(fraction=0.25) is below RoPE at 2 and 4 times the length.
- A convolution does not replace a bias at length: nope with convolutions is above KERPLE at four
  times the length.
- The tiers of the suite hold on text: Kendall's tau between the rows' ranks by bits at four times
  the training length and their ranks by solved runs that extrapolate in suite_grid is above 0.6,
  over the rows that both have: python -m experiments.declared real_text results/real_text
  results/published/suite_grid_[!p]*, which is without the pilot and pools tasks and rates.

A document is drawn in proportion to the windows that fit into it. A document of fewer than 2,048
bytes is used in training and not in the test. One corpus, one model size and one budget were
trained. Bytes are no subwords, and 2,048 bytes are about 350 words.
"""

from configs import convolution
from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("pilot", "smoke")

CORPUS = "corpus/ea09a52894594e01"
LENGTH = 256  # bytes of a window in training
LENGTHS = (256, 512, 1024, 2048)
RATES = (3e-3, 1e-2)
SEEDS = 5
PILOT_SEED = 100  # no seed of the study


def get_config(form=""):
    c = base.get_config()
    longest = 32 if form == "smoke" else max(LENGTHS)
    windows = dict(within_documents=True, longest=longest, align="end")
    c.task = dict(name="language_model", dataset=CORPUS, **windows)
    c.layout.end_token = False  # a window ends anywhere
    c.model.update(width=128, feedforward_width=512)
    c.train.update(
        steps=1000,
        criterion=None,  # a fixed budget
        batch_size=16,
        min_length=LENGTH,
        max_length=LENGTH,
        learning_rate=3e-3,
    )
    c.evaluate.update(lengths=LENGTHS, num_examples=256, batch_size=8)
    c.evaluate.update(curve_every=250, curve_lengths=(LENGTH,), curve_examples=128)
    if form == "smoke":
        c.task = dict(name="language_model", path="README.md", longest=longest, align="end")
        c.model.update(width=16, num_layers=1, num_heads=2, feedforward_width=32)
        c.train.update(steps=20, batch_size=8, min_length=16, max_length=16)
        c.evaluate.update(
            lengths=(16, 32), num_examples=8, curve_every=20, curve_lengths=(16,), curve_examples=8
        )
    return c


def sweep(form=""):
    rows = _rows(max_shift=16 if form == "smoke" else max(LENGTHS) - LENGTH)
    if form == "smoke":
        return grid.product(rows[3:4], {"seed": range(1)})
    if form == "pilot":
        pair = [*rows[3:4], *rows[5:6]]
        return grid.product(pair, {"train.learning_rate": RATES}, {"seed": [PILOT_SEED]})
    return grid.product(rows, {"train.learning_rate": RATES}, {"seed": range(SEEDS)})


def _rows(max_shift):
    # The separator and all bytes but the last follow the token that begins.
    tokens = 1 + max(LENGTHS)
    learned = grid.labelled("learned", (dict(name="learned", max_positions=tokens),))
    contiguous = grid.labelled("", dict(name="contiguous"))
    shifted = grid.labelled("shifted", dict(name="shifted", max_shift=max_shift))
    rope = [(dict(name="rope"),), (dict(name="rope", fraction=0.25),)]
    alibi = [(dict(name="alibi"),), (dict(name="alibi", learn_slopes=True),)]
    others = [(dict(name=name),) for name in ("kerple", "fire", "t5_bias", "fox")]
    nope = (dict(name="nope"),)
    without = grid.labelled("", ())
    sites = grid.labelled(convolution.WITH, convolution.SITES[convolution.WITH])
    return grid.concat(
        _points([nope, (dict(name="sinusoidal"),)], contiguous, without),
        _points([learned], shifted, without),
        _points([*rope, *alibi, *others], contiguous, without),
        _points([nope], contiguous, sites),
    )


def _points(encodings, scheme, sites):
    return grid.product(
        {"model.encodings": encodings, "positions": [scheme], "model.convolution_sites": [sites]}
    )


def analysis(form=""):
    if form:
        return dict(question="How long does a run of real_text take?")
    claims = (
        ("ALiBi reads longer windows better than sinusoidal positions.", "alibi", "sinusoidal"),
        ("ALiBi reads longer windows better than RoPE.", "alibi", "rope"),
        ("ALiBi reads longer windows better than T5's bias.", "alibi", "t5_bias"),
        ("T5's bias reads longer windows better than RoPE.", "t5_bias", "rope"),
        ("RoPE reads longer windows better than sinusoidal positions.", "rope", "sinusoidal"),
    )
    return dict(
        question="Which encodings still read real text when the context is longer than in "
        "training?",
        extrapolation=dict(at=4),
        tuned=("train.learning_rate",),
        contrasts=(
            dict(a="rope(fraction=0.25)", b="rope", at=2),
            dict(a="rope(fraction=0.25)", b="rope", at=4),
            dict(a=f"nope · {convolution.WITH}", b="kerple", at=4),
        ),
        reproduction=dict(
            paper="Press et al. 2021",
            claims=tuple(dict(text=text, a=a, b=b, at=(2, 4)) for text, a, b in claims),
        ),
    )
