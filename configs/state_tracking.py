"""Which models track a state: products in finite groups, and the number of blocks of a string.

    pe-lab sweep configs/state_tracking.py:groups  # 2.1 core-hours
    pe-lab sweep configs/state_tracking.py:blocks  # 1.9
    pe-lab sweep configs/state_tracking.py:pilot   # one rate and one seed of a few models
    pe-lab sweep configs/state_tracking.py:smoke   # a small form

`groups` is the word problem: the product of a string of elements of a group. Strings of S3 are of
all elements; those of S5, A5 and Z60 of generators: the 10 swaps of two of five points, the 20
cycles of three of five points, and the 20 shifts of 60 points by up to ten. So A5 and Z60 differ in
whether products commute, and not in the numbers of elements and symbols. The answer is the last
product alone, because with every product in the answer a decoder reads the one before. Six
encodings, convolutions of width 4 without positions, and an LSTM, each with 2 layers and width 64.
Strings have up to 8 elements in training, and 4 of A5 and Z60. Tests are at 1, 1.25, 1.5 and 2
times that.

`blocks` has strings of up to 24 letters in alternating blocks of a and b. Half of them have k
blocks, and half of them k - 2: a model without positions says which. Depths 1 to 3, k of 3, 5, 7,
9 and 11. Two learning rates; five seeds of groups and four of blocks: 440 runs in all. Core-hours
are the estimate of `--dry-run`.

Declared before the runs, at the rate that validation chooses:
- At the training length, where no run has to be solved to be compared: PaTH against RoPE in each
  group. A product of PaTH's maps can follow a permutation, and a rotation by the distance cannot.
  Expected: above 0 in S3, S5 and A5. No sign is expected in Z60.
- PaTH against RoPE in S3, S5 and A5 is a claim of a paper, too, by the rule of reproductions: the
  abstract of Yang et al. 2025 (https://arxiv.org/abs/2505.16381) says that PaTH improves upon RoPE
  on targeted synthetic benchmarks. Of the paper no more was read, so no number is compared.
- At the training length: PaTH against the LSTM; selective RoPE, FoX, ALiBi and convolutions against
  RoPE. No sign is expected of these.
- The rule of these contrasts, for each group: Student's interval over five seeds, not adjusted for
  the 24 of them. A difference is decided if the interval excludes 0. Otherwise it is none if the
  interval lies within 0.05 of 0, unless both means are less than 0.05 above the chance level of
  the table, or both are above 0.95. All else is undecided. The expectation holds in a group if the
  difference is decided and above 0, and fails if it is decided and below 0, or none. Holm's p in
  the table of contrasts decides nothing.
- A cell (depth d, k) of blocks is learned if at least three of four seeds solve it and have an
  exact match of 0.9 or more at 36 letters, of which training shows none. The largest learned k of
  each depth; expected to grow with the depth. The shares of learned cells among the 4 with
  k <= d + 2 and among the 11 others, and of the 15 cells that are learned if and only if
  k <= d + 2. The last one alone says little: a study that learns nothing has 11 of 15
  (`python -m experiments.declared state_tracking FOLDER`, which refuses an incomplete study).

The law k <= d + 2 of Yang et al. 2025 (https://arxiv.org/abs/2506.16055) is about models that label
each prefix at its own letter. No layout has targets at tokens of the prompt. So `blocks` asks an
easier question, of one answer about two numbers of blocks, and does not test the law as published.

Pilot, one seed at the rate 0.001, not part of the study. Exact match at the training length and at
twice that: PaTH 0.79 and 0.42 in S3 and 1.00 and 1.00 in S5, and the LSTM 1.00 and 1.00 in S3. With
uniform elements of A5 and Z60 PaTH was at chance from 4 elements on, so these groups have
generators. With them and up to 8 symbols in training, PaTH has 0.13 at 4 symbols of A5 and 0.02, a
guess, at 8, and 0.96 and 0.89 in Z60. One layer has 1.00 on 3 blocks. Two layers have 1.00 on 5
blocks, and 0.90 at 48 letters, so that k goes to 11.
"""

import itertools

from configs import convolution
from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("groups", "blocks", "pilot", "smoke")

RATES = (1e-3, 3e-3)
SEEDS = {"groups": 5, "blocks": 4}
MULTIPLES = (1, 1.25, 1.5, 2)
_POINTS = range(5)
# Swaps of two of five points; cycles of three of five points, both ways; and shifts of 60 points by
# up to ten, both ways. They generate S5, A5 and Z60.
_SWAPS = tuple(
    tuple({a: b, b: a}.get(point, point) for point in _POINTS)
    for a, b in itertools.combinations(_POINTS, 2)
)
_CYCLES = tuple(
    tuple({a: b, b: c, c: a}.get(point, point) for point in _POINTS)
    for a, b, c in itertools.permutations(_POINTS, 3)
    if a < min(b, c)  # each cycle once
)
_SHIFTS = tuple(
    tuple((point + step) % 60 for point in range(60)) for step in range(-10, 11) if step
)


def _generated(generators):
    return dict(name="word_problem", generators=generators, symbols="generators", answer="last")


# Task and longest string of training, in elements.
GROUPS = {
    "S3": (dict(name="word_problem", group="S3", answer="last"), 8),
    "S5": (_generated(_SWAPS), 8),
    "A5": (_generated(_CYCLES), 4),
    "Z60": (_generated(_SHIFTS), 4),
}
ENCODINGS = ("path", "selective_rope", "fox", "rope", "nope", "alibi")
LSTM = "LSTM"
DEPTHS = (1, 2, 3)
BLOCKS = (3, 5, 7, 9, 11)
_LETTERS = 24  # of the longest string of blocks in training


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.train.update(steps=4000, batch_size=32, warmup_steps=100)
    c.evaluate.curve_every = 500
    if form == "smoke":
        c.model.update(width=16, num_heads=2, feedforward_width=16)
        c.train.update(steps=12, batch_size=8, warmup_steps=2)
        c.evaluate.update(num_examples=16, batch_size=8, curve_every=6, curve_examples=8)
    return c


def sweep(form=""):
    if form == "smoke":
        return grid.product(_models()[:1], _of_groups(("S3",)), {"seed": range(1)})
    rates = {"train.learning_rate": RATES[:1] if form == "pilot" else RATES}
    if form == "pilot":
        path, *_, lstm = _models()
        groups = grid.concat(
            grid.product([path, lstm], _of_groups(("S3",))),
            grid.product([path], _of_groups(("S5", "A5", "Z60"))),
        )
        blocks = _of_blocks((1, 2), (3, 5))
        return grid.product(grid.concat(groups, blocks[:1], blocks[-1:]), rates, {"seed": range(1)})
    groups = grid.product(_models(), _of_groups(GROUPS), rates, {"seed": range(SEEDS["groups"])})
    blocks = grid.product(_of_blocks(DEPTHS, BLOCKS), rates, {"seed": range(SEEDS["blocks"])})
    return {"groups": groups, "blocks": blocks}.get(form) or grid.concat(groups, blocks)


def _models():
    attention, lstm = grid.labelled("", "attention"), grid.labelled(LSTM, "lstm")
    without = grid.labelled("", ())
    sites = grid.labelled(convolution.WITH, convolution.SITES[convolution.WITH])
    nope = [(dict(name="nope"),)]
    return grid.concat(
        _points([(dict(name=name),) for name in ENCODINGS], attention, without),
        _points(nope, attention, sites),
        _points([without], lstm, without),
    )


def _points(encodings, mixer, sites):
    return grid.product(
        {"model.encodings": encodings, "model.mixer": [mixer], "model.convolution_sites": [sites]}
    )


def _of_groups(names):
    points = []
    for name in names:
        task, longest = GROUPS[name]
        points += _lengths(name, task, 1, longest)
    return points


def _of_blocks(depths, blocks):
    layers = {"model.num_layers": [grid.labelled(layers_label(depth), depth) for depth in depths]}
    points = []
    for num_blocks in blocks:
        task = dict(name="alternating_blocks", blocks=num_blocks, answer="last")
        points += _lengths(blocks_label(num_blocks), task, num_blocks, _LETTERS)
    attention, without = grid.labelled("", "attention"), grid.labelled("", ())
    nope = _points([(dict(name="nope"),)], attention, without)
    return grid.product(nope, layers, points)


def layers_label(depth):
    return f"{depth} layer{'s' * (depth > 1)}"


def blocks_label(num_blocks):
    return f"{num_blocks} blocks"


def _lengths(name, task, shortest, longest):
    settings = {
        "train.min_length": shortest,
        "train.max_length": longest,
        "evaluate.lengths": tuple(round(multiple * longest) for multiple in MULTIPLES),
        "evaluate.curve_lengths": (longest, 2 * longest),
    }
    hidden = {path: [grid.labelled("", value)] for path, value in settings.items()}
    return grid.product({"task": [grid.labelled(name, task)]}, hidden)


def analysis(form=""):
    if form in ("pilot", "smoke"):
        return {}
    by_depth = dict(rows="model.num_layers", columns="task")
    if form == "blocks":
        return dict(
            question="How many blocks does a model without positions learn, by its depth?",
            extrapolation=dict(at=1.5),
            tuned=("train.learning_rate",),
            tables=(
                dict(by_depth, title="Solved seeds", metric="solved"),
                dict(by_depth, title="Seeds that extrapolate", metric="extrapolates"),
            ),
        )
    rows = ("model.encodings", "model.mixer", "model.convolution_sites")
    by_length = dict(rows=rows, columns="length", each="task", title="By length")
    pairs = [("path", "rope"), ("path", LSTM), ("selective_rope", "rope"), ("fox", "rope")]
    pairs += [("alibi", "rope"), (f"nope · {convolution.WITH}", "rope")]
    claims = [
        dict(
            text="PaTH improves upon RoPE on synthetic tasks.",
            a=f"path · {group}",
            b=f"rope · {group}",
            at=1,
        )
        for group in ("S3", "S5", "A5")
    ]
    return dict(
        question="Which models track the state of a finite group?",
        contrasts=tuple(dict(a=a, b=b, at=1) for a, b in pairs),
        reproduction=dict(paper="Yang et al. 2025", claims=claims),
        tuned=("train.learning_rate",),
        tables=(by_length,) if form else (),
    )
