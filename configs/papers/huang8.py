"""Eight tasks that a theory of limit transformers predicts: positions learned with a random offset,
and none.

    pe-lab sweep configs/papers/huang8.py
    pe-lab sweep configs/papers/huang8.py:scaled  # about 40 minutes
    pe-lab sweep configs/papers/huang8.py:longer  # the same size with 30,000 steps
    pe-lab sweep configs/papers/huang8.py:smoke   # one small run

Protocol of Huang et al. 2024 (https://arxiv.org/abs/2410.02140): decoder trained on lengths up to
50, tested in the bins 51..100 and 101..150 with 2,000 examples each, exact match; AdamW with decay
0.01 and a linear schedule, 30,000 steps of 64. The offset of an example is drawn such that exactly
the positions of the longest test are trained. A run ends at 100 % on 2,000 examples of lengths up
to 50, checked every 3,000 steps. Sizes and rates differ by task: they are those that the authors'
search chose by the bin 51..100. 80 runs, 20 of them with 12 layers: for an accelerator.

Compared with the authors' code, lacoco-lab/length_generalization at 790f068:
algorithmic/language_modeling_train.py (tasks, offsets, training) and run_multiple_seeds.py (sizes).

Differs:
- Five seeds count, solved or not. The authors train up to 1000 seeds until five are solved, 16 for
  majority without positions. With 12 layers any five count, and none was solved.
- Tokens start with a standard deviation of 1/sqrt(width), and the authors' with 0.02, as in GPT-2.
  Learned positions start at the scale of tokens in both. Attention has no biases.
- A bin is ten lengths with 200 examples each, 53, 58 .. 98 and 103, 108 .. 148, which have the mean
  of the bin. The authors draw the length of each example uniformly.
- A run ends by the mean over lengths 10, 20 .. 50, with 400 examples each. The authors draw 2,000
  lengths of 0 to 50.
- Parity has no strings of length 0.
- Interleaved lengths are rounded down. The authors round to the nearest multiple of three.
- The authors' regularizer of positions is left out.

Scaled: lengths up to 12, tested in the bins 13..24 and 25..36; 2 layers, 2 heads and width 64 for
all tasks at the rate 1e-3, 6,000 steps of 32, five seeds.

Longer: the scaled form with the authors' 30,000 steps, still of 32, and eight seeds, for the
variants of the claims alone. It was declared after the scaled form and before its own first run:
with 6,000 steps, no seed with learned positions solved unique_copy, repeat_copy, sort, parity or
addition, so no claim was decided. A run ends at 100 % on nine lengths, 4 to 12, because three runs
of the scaled form ended at 100 % on three lengths and just below the threshold on all.
"""

from configs.papers import forms
from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke", "scaled", "longer")

AUTHORS = (
    "Huang et al. 2024, mean of the first five solved runs, or of any five with 12 layers "
    "(bin_majority_interleave and parity without positions, addition): "
    "lacoco-lab/length_generalization at 790f068, algorithmic/lm-out-new-multi-run"
)
TASKS = {
    "bin_majority": dict(name="majority"),
    "majority": dict(name="majority", num_symbols=26),
    "bin_majority_interleave": dict(name="majority", interleaved=3),
    "unique_copy": dict(name="copy", num_symbols=150),
    "repeat_copy": dict(name="copy", num_symbols=2, distinct=False),
    "sort": dict(name="sort", num_symbols=150),
    "parity": dict(name="parity", ones="uniform"),
    "addition": dict(
        name="addition", base=2, padding="none", reverse_answer=False, total_length=True
    ),
}
SHORTEST = {"bin_majority_interleave": 3, "addition": 4}  # 1 in the other tasks
# Layers, heads, width and learning rate of (learned positions, no positions).
BIG, BIG_SLOW = (12, 12, 768, 1e-4), (12, 12, 768, 3e-5)
SIZES = {
    "bin_majority": ((1, 1, 16, 1e-3), (1, 1, 16, 1e-3)),
    "majority": ((1, 2, 256, 1e-3), (1, 1, 64, 1e-3)),
    "bin_majority_interleave": ((2, 4, 256, 1e-4), BIG),
    "unique_copy": ((2, 1, 64, 1e-3), (4, 4, 256, 1e-3)),
    "repeat_copy": ((4, 4, 256, 1e-3), (4, 4, 256, 1e-3)),
    "sort": ((1, 2, 256, 1e-4), (1, 1, 256, 1e-3)),
    "parity": ((4, 2, 256, 1e-4), BIG_SLOW),
    "addition": (BIG, BIG),
}
SMALL = (2, 2, 64, 1e-3)
# The theory predicts that learned positions with a random offset extend the first of two tasks and
# not the second. Exact match at up to twice the training length.
PREDICTED = (
    ("unique_copy", "repeat_copy"),
    ("sort", "addition"),
    ("majority", "parity"),
    ("bin_majority", "parity"),
    ("bin_majority_interleave", "parity"),
)
VARIANTS_OF_CLAIMS = {
    ("unique_copy", "nope"),
    *((task, "learned") for pair in PREDICTED for task in pair),
}
# Exact match of (51..100, 101..150) for (learned positions, no positions).
PUBLISHED = {
    "bin_majority": ((0.9999, 0.9996), (1.0, 1.0)),
    "majority": ((0.9962, 0.9781), (0.9986, 0.9846)),
    "bin_majority_interleave": ((0.9675, 0.8470), (0.6881, 0.3947)),
    "unique_copy": ((0.9986, 0.9874), (0.18, 0.0)),
    "repeat_copy": ((0.2555, 0.0), (0.2801, 0.0)),
    "sort": ((0.9996, 0.9937), (0.9981, 0.8060)),
    "parity": ((0.8295, 0.6206), (0.7450, 0.6330)),
    "addition": ((0.2678, 0.0), (0.2769, 0.0)),
}


def get_config(form=""):
    c = base.get_config()
    c.model.update(tied_output=True, scale_embeddings=False)
    c.train.update(
        steps=30_000,
        criterion=1.0,
        extra_steps=0,
        batch_size=64,
        max_length=50,
        schedule="linear",
        warmup_steps=0,
        final_rate_fraction=0.0,
        beta2=0.999,
        weight_decay=0.01,
        encoding_weight_decay=0.01,  # the authors decay the table of positions too
    )
    c.evaluate.update(
        lengths=(*range(5, 51, 5), *range(53, 151, 5)),  # bins of ten lengths with their mean
        num_examples=200,
        batch_size=200,
        curve_every=3000,
        curve_lengths=(10, 20, 30, 40, 50),
        curve_examples=400,
    )
    if form in ("scaled", "longer"):
        c.train.update(steps=6000, batch_size=32, max_length=12)
        c.evaluate.update(
            lengths=(6, 12, *range(14, 36, 3)),
            curve_every=600,
            curve_lengths=(4, 8, 12),
        )
    if form == "longer":
        c.train.steps = 30_000
        # A run ends at the first point with 100 % at all of these lengths.
        c.evaluate.update(curve_every=3000, curve_lengths=tuple(range(4, 13)))
    if form == "smoke":
        forms.smoke(c)
    return c


def num_positions(task, longest):
    """Input tokens of the longest test, which are the positions that training shows."""
    if task in ("unique_copy", "repeat_copy", "sort"):
        return 2 * longest + 2  # BEGIN, prompt, separator, answer
    if task == "addition":
        return 2 * longest - 1  # as in the authors' code: a sum is shorter than its prompt
    return longest + (5 if task == "bin_majority_interleave" else 3)


def variant(task, encoding, size, longest):
    """The point of one task with one encoding. Derived settings have empty labels."""
    layers, heads, width, rate = size
    total = num_positions(task, longest)
    spec, scheme = dict(name=encoding), dict(name="contiguous")
    if encoding == "learned":
        spec["max_positions"] = 2 * longest + 2  # one table size for all tasks
        scheme = dict(name="shifted_within", total=total)
    values = {
        "positions": scheme,
        "train.min_length": SHORTEST.get(task, 1),
        "model.num_layers": layers,
        "model.num_heads": heads,
        "model.width": width,
        "model.feedforward_width": 4 * width,
        "train.learning_rate": rate,
    }
    if encoding == "learned":
        values["model.encodings.0.init_std"] = width**-0.5  # as for tokens, which are not scaled
    if size in (BIG, BIG_SLOW):
        values |= {"train.steps": 60_000, "train.warmup_steps": 3000}
    return grid.product(
        {"task": [grid.labelled(task, TASKS[task])]},
        {"model.encodings": [grid.labelled(encoding, (spec,))]},
        {path: [grid.labelled("", value)] for path, value in values.items()},
    )


def sweep(form=""):
    points = []
    longest = 36 if form in ("scaled", "longer") else 150
    for task, sizes in SIZES.items():
        for encoding, size in zip(("learned", "nope"), sizes, strict=True):
            if form == "longer" and (task, encoding) not in VARIANTS_OF_CLAIMS:
                continue
            if form in ("scaled", "longer", "smoke"):
                size = SMALL
            points += variant(task, encoding, size, longest)
    if form == "smoke":  # strings of this task seldom repeat, even short ones
        points = variant("unique_copy", "learned", SMALL, longest=150)
        return grid.product(points[:1], {"seed": range(1)})
    return grid.product(points, {"seed": range(8 if form == "longer" else 5)})


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    is_scaled = form in ("scaled", "longer")
    length = 12 if is_scaled else 50
    last_of_first_bin = 23 if is_scaled else 98
    bins = ((length + 1, 2 * length), (2 * length + 1, 3 * length))
    measures = [
        dict(name="exact_match", lengths=lengths, label="{}..{}".format(*lengths))
        for lengths in bins
    ]
    figures = [
        (f"{task} · {encoding}", lengths, value)
        for task, values in PUBLISHED.items()
        for encoding, of_bins in zip(("learned", "nope"), values, strict=True)
        for lengths, value in zip(((51, 100), (101, 150)), of_bins, strict=True)
    ]
    return dict(
        question="Do the tasks that the theory predicts to extend do so, and the others not?",
        extrapolation=dict(length=last_of_first_bin),
        # Learned positions see the positions of the test in training: the claim is about them.
        contrasts=(dict(a="learned", b="nope", seen_positions=True),),
        tables=(dict(title="By bin", measures=("extrapolates", *measures)),),
        reproduction=dict(
            paper="Huang et al. 2024",
            is_authors_size=not is_scaled,
            claims=tuple(claims(PREDICTED, bins[0])),
        ),
        # The scaled form does not train on the lengths of the figures.
        literature=() if is_scaled else (dict(source=AUTHORS, figures=figures),),
    )


def claims(predicted, lengths):
    """The claims of the theory, and that learned positions extend copying further than none."""
    for one, other in predicted:
        yield dict(
            text=f"Learned positions extend {one}, as the theory predicts, further than {other}.",
            a=f"{one} · learned",
            b=f"{other} · learned",
            lengths=lengths,
            figures=(PUBLISHED[one][0][0], PUBLISHED[other][0][0]),
        )
    yield dict(
        text="Learned positions extend unique_copy further than none.",
        a="unique_copy · learned",
        b="unique_copy · nope",
        lengths=lengths,
        figures=tuple(of_bins[0] for of_bins in PUBLISHED["unique_copy"]),
    )
