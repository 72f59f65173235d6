"""Copying distinct and repeated symbols, counting and sorting at the small sizes of Huang et al.,
and five other encodings on copying.

    pe-lab sweep configs/papers/huang25.py
    pe-lab sweep configs/papers/huang25.py:scaled      # about 55 minutes
    pe-lab sweep configs/papers/huang25.py:literature  # about 2 hours
    pe-lab sweep configs/papers/huang25.py:seeds       # 100 seeds of one cell
    pe-lab sweep configs/papers/huang25.py:start       # unique_copy from twelve starts
    pe-lab sweep configs/papers/huang25.py:smoke       # one small run

Protocol of Huang et al. 2024 (https://arxiv.org/abs/2410.02140), as in configs/papers/huang8.py,
for tasks whose size is small: bin_majority (1 layer, 1 head, width 16), majority (1, 2, 256), sort
(1, 2, 256, rate 1e-4) and unique_copy (2, 1, 64). Repeated symbols are copied at the size of
distinct ones, so that both differ in the symbols alone. NoPE, RoPE, ALiBi, T5's bias and FIRE copy
distinct symbols at this size. 50 runs.

Compared with the authors' code, lacoco-lab/length_generalization at 790f068:
algorithmic/language_modeling_train.py and run_multiple_seeds.py.

Differs:
- All that differs in huang8.
- The authors copy repeated symbols with 4 layers, 4 heads and width 256.
- The authors train learned positions and none. The other encodings are added.

Scaled: lengths up to 12, tested in the bins 13..24 and 25..36, at the same sizes; 6,000 steps of
32, five seeds.

Literature: the cells that two cores train at the authors' own size and budget, five seeds each:
unique_copy with learned positions, and bin_majority with learned positions and with none.

Seeds: bin_majority with no positions at the authors' size and budget, with 100 seeds. In the
literature form one of five seeds fell to a mean of 0.18 over lengths 101..150, and to 0.00 at
length 148; the authors' mean of five is 1.00.
Declared before its first run, and after the literature form: the share of the solved seeds whose
exact match at length 148 is at least 0.9, with Wilson's interval. The claims of the cell are about
the mean of the first five solved seeds, as the authors' are. About half a minute of one core a run.

Start: unique_copy with learned positions at the authors' size, to find out why no seed of the
literature form solved it. A factorial of the start of tokens and positions (a standard deviation of
0.02 as in the authors' GPT-2, 1/sqrt(width) as in the other forms, and tokens scaled to rms 1 with
positions at 0.02, which are pe_lab's defaults), the output (tied to the embeddings or not) and the
warm-up (none or 200 steps). Four seeds and at most 15,000 steps: 48 trainings, which end when they
solve the training lengths. At most 18 core-hours of a CPU, by the dry run, or minutes on an
accelerator.
Declared before its first run: for each level of each factor, the share of its runs that are solved,
with Wilson's interval. A factor decides if the intervals of two of its levels do not overlap. The
authors' figures are then trained with the start of 0.02, if any of its seeds are solved.
"""

from configs.papers import huang8
from pe_lab.runs import grid

FORMS = ("smoke", "scaled", "literature", "seeds", "start")

COPY_SIZE = (2, 1, 64, 1e-3)  # layers, heads, width, learning rate
OTHERS = ("nope", "rope", "alibi", "t5_bias", "fire")
# Cells of the authors' table: the cells of this study, and those that two cores train in hours.
LEARNED = [(task, "learned") for task in ("unique_copy", "bin_majority", "majority", "sort")]
LITERATURE = [
    ("unique_copy", "learned"),
    ("bin_majority", "learned"),
    ("bin_majority", "nope"),
]
MANY_SEEDS = 100  # of the last cell, in the form `seeds`
# Of the form `start`: whether tokens are scaled by sqrt(width), and the standard deviations of the
# tokens, before they are scaled, and of the positions.
STARTS = {
    "start 0.02": (False, 0.02, 0.02),
    "start 0.125": (False, None, 0.125),
    "start 1": (True, None, 0.02),
}
OUTPUTS = {"tied": True, "untied": False}
WARM_UPS = (0, 200)


def get_config(form=""):
    c = huang8.get_config(form)  # the literature form has the protocol's own settings
    if form == "start":
        c.train.steps = 15_000
        c.evaluate.curve_every = 1500
    return c


def sweep(form=""):
    longest = 36 if form == "scaled" else 150
    points = []
    if form == "start":
        return _starts()
    if form in ("literature", "seeds"):
        for task, encoding in _cells(form):
            learned_size, nope_size = huang8.SIZES[task]
            size = learned_size if encoding == "learned" else nope_size
            points += huang8.variant(task, encoding, size, longest)
        return grid.product(points, {"seed": range(MANY_SEEDS if form == "seeds" else 5)})
    for task, encoding in LEARNED:
        points += huang8.variant(task, encoding, huang8.SIZES[task][0], longest)
    points += huang8.variant("repeat_copy", "learned", COPY_SIZE, longest)
    for encoding in OTHERS:
        points += huang8.variant("unique_copy", encoding, COPY_SIZE, longest)
    if form == "smoke":
        return grid.product(points[:1], {"seed": range(1)})
    return grid.product(points, {"seed": range(5)})


def _starts():
    task, encoding = LITERATURE[0]
    outputs = [grid.labelled(label, tied) for label, tied in OUTPUTS.items()]
    warm_ups = [grid.labelled(f"{steps} steps of warm-up", steps) for steps in WARM_UPS]
    (point,) = huang8.variant(task, encoding, COPY_SIZE, longest=150)
    starts = []
    for label, (is_scaled, std, std_of_positions) in STARTS.items():
        starts.append(
            {
                **point,
                "model.scale_embeddings": grid.labelled(label, is_scaled),
                "model.embedding_std": grid.labelled("", std),
                "model.encodings.0.init_std": grid.labelled("", std_of_positions),
            }
        )
    factors = {"model.tied_output": outputs, "train.warmup_steps": warm_ups}
    return grid.product(starts, factors, {"seed": range(4)})


def _cells(form):
    """The cells of the authors' table that a form at their size trains."""
    return LITERATURE[-1:] if form == "seeds" else LITERATURE


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    if form == "start":
        return _analysis_of_starts()
    study = huang8.analysis(form)
    has_cells = form in ("literature", "seeds")
    cells = _cells(form) if has_cells else LEARNED
    names = [f"{task} · {encoding}" for task, encoding in cells]
    sources = []
    for source in study["literature"]:
        figures = [figure for figure in source["figures"] if figure[0] in names]
        sources.append(dict(source, figures=figures))
    claims = [
        dict(
            text=f"{task} with {encoding} positions has the authors' exact match within 0.1.",
            a=f"{task} · {encoding}",
            lengths=lengths,
            figures=(figure,),
            **(dict(first_solved=5) if form == "seeds" else {}),
        )
        for task, encoding in _cells(form)
        for lengths, figure in zip(
            ((51, 100), (101, 150)),
            huang8.PUBLISHED[task][encoding == "nope"],
            strict=True,
        )
    ]
    if not has_cells:
        first_bin = (13, 24) if form == "scaled" else (51, 100)
        claims = huang8.claims((("unique_copy", "repeat_copy"),), first_bin)
    study = study | dict(
        literature=tuple(sources),
        reproduction=dict(
            paper="Huang et al. 2024", is_authors_size=form != "scaled", claims=tuple(claims)
        ),
    )
    if form == "seeds":
        return study | dict(
            question="How often does counting without positions fail beyond the training length?",
            contrasts=(),
            extrapolation=dict(length=148),
        )
    if form == "literature":
        return study | dict(
            question="Do our runs reach the authors' figures at their own size?",
            contrasts=(),  # learned positions see the positions of the test in training
        )
    return study | dict(
        question="Do learned positions with a random offset copy distinct symbols and not repeated "
        "ones, and which other encodings copy distinct symbols?",
        contrasts=(
            ("unique_copy · learned", "repeat_copy · learned"),
            dict(a="unique_copy · learned", b="unique_copy · nope", seen_positions=True),
            ("unique_copy · alibi", "unique_copy · nope"),
            ("unique_copy · rope", "unique_copy · nope"),
        ),
    )


def _analysis_of_starts():
    return dict(
        question="Which start, output and warm-up let a model solve unique_copy?",
        contrasts=(),
        extrapolation=dict(length=148),
        tables=(
            dict(
                rows=("model.scale_embeddings", "model.tied_output"),
                columns="train.warmup_steps",
                title="Runs that solve the training lengths",
                metric=dict(name="solved"),
            ),
        ),
    )
