"""Do claims of public speedruns about positions hold in small models, at each size and budget?

    pe-lab sweep configs/speedruns.py               # text, width 64: 3.2 core-hours
    pe-lab sweep configs/speedruns.py:copying       # copy with repeated symbols: 3.3
    pe-lab sweep configs/speedruns.py:text_wide     # text, width 128: 3.3
    pe-lab sweep configs/speedruns.py:deep          # the same copying, 4 layers: 1.5
    pe-lab sweep configs/speedruns.py:recall        # 1.8
    pe-lab sweep configs/speedruns.py:flip_flop     # 0.8
    pe-lab sweep configs/speedruns.py:text_muon     # text, width 64, Muon: 0.7
    pe-lab sweep configs/speedruns.py:smoke         # a small form

docs/claims.md has the claims, their sources and our verdicts. Forms are in the order of their
value. Models have 2 layers and width 64 if a form does not say more, and 4 heads. Tasks have the
lengths and batches of suite_grid. Text is that of real_text up to 1,024 bytes, whose docstring has
the command that prepares the corpus. Two learning rates and five seeds, the fewest that give a
contrast an interval. The text has 220 runs, half of them with a quarter of the steps; copying has
half and all of the steps of suite_grid. The other forms have one budget. Core-hours of tasks are
the estimate of `--dry-run`, and those of text are that estimate at the 64 GFLOP/s of the pilot of
real_text. In all about 14.6.

Declared before the runs, at the rate that validation chooses: the contrasts below, in exact match
at 1, 1.125 and 2 times the training length, and for text in bits per byte at the training length
and at four times it. Student's interval over seeds, not adjusted. The rule of a claim for each
size, budget and point:
- Beyond the training length, a row of a task is not compared if no seed of it solves the training
  lengths: undecided, and the cell says why. At the training length no run has to be solved.
- A difference is decided if its interval excludes 0. Otherwise it is none if the interval lies
  within 0.05 of 0, or within 0.01 bits.
- On tasks there is no such none if both means are below 0.05 or both above 0.95: undecided, both at
  the floor or both at the ceiling. In suite_grid:repeated the medians of RoPE are 0.99, 0.14 and
  0.00 at 1, 1.125 and 2 times the training length.
- A claim that a is better (worse) than b holds if the difference is decided and has this sign, and
  does not hold if the sign is the other one or there is no difference. A claim that a is not better
  holds if there is no difference or a is worse, and does not hold if a is better. All else is
  undecided.
- A claim that a gain is not robust has one verdict, over all sizes, budgets, tasks and points. It
  holds if a is better at some and worse or not different at others, and does not hold if a is
  better at all of at least two that are decided or none. All else is undecided.
- The sign changes if two decided differences of a contrast, at any size, budget, task or point,
  have different signs.

About the rows:

- Half-truncated RoPE of modded-nanogpt, whose n = Dh / 4 frequencies are 1024^(-m / (n - 1)), is
  rope(fraction=0.5, base=1024^(n / (n - 1))). At a head width of 16 this base is 10,321, so `half
  rope` with base 10,000 stands for it. At width 128 it is 2,756 and is not trained.
- The offset of keys is 0.5, on all layers: the channels that `half rope` leaves unrotated.
- MarinFold's smear adds two earlier tokens to the embedding, without a gate. `nope + smear` adds
  one with a gate; convolutions of 3 read two, at all sites of a Canon layer.
- Exclusive self-attention has the learned fraction of modded-nanogpt. It is trained on text of
  width 64 only, where it takes 1.4 times as long as RoPE.
- Of hybrids, SmolLM3 has no RoPE on every fourth layer, and Command R7B also has windows on the
  other layers, of half the longest training example.

Left out for their cost: a third rate and a sixth seed; a quarter of RoPE with base 1,024;
convolutions at V and O alone; copying of width 128; text with four layers; Llama 4, SWAN and DroPE,
which an earlier design of hybrids had.
"""

from typing import Any

from configs import convolution, real_text
from pe_lab.runs import grid
from pe_lab.studies import suite_grid

CORPUS = real_text.CORPUS
# Task of suite_grid, layers, and divisors of its number of steps.
TASKS = {
    "copying": ("copy repeated", 2, (2, 1)),
    "deep": ("copy repeated", 4, (1,)),
    "recall": ("recall", 2, (1,)),
    "flip_flop": ("flip_flop", 2, (1,)),
}
# Width and steps.
TEXTS = {"": (64, (250, 1000)), "text_wide": (128, (1000,)), "text_muon": (64, (1000,))}
FORMS = ("copying", "text_wide", "deep", "recall", "flip_flop", "text_muon", "smoke")

LENGTHS = (256, 512, 1024)  # bytes of a window of text
SEEDS = 5
RATES, RATES_OF_TEXT = (1e-3, 3e-3), (3e-3, 1e-2)
# Multiples of the training length, and the largest difference that is none.
POINTS, POINTS_OF_TEXT = (1, 1.125, 2), (1, 4)
MARGIN, MARGIN_OF_TEXT = 0.05, 0.01
# Of exact match. Two means beyond one of them show no absence of a difference.
FLOOR, CEILING = 0.05, 0.95

_ROPE: dict[str, Any] = dict(name="rope")
_NOPE: dict[str, Any] = dict(name="nope")
_HALF = dict(_ROPE, fraction=0.5)
_OFF: dict[str, object] = {
    "model.key_offset": 0.0,
    "model.embedding_smear": 0,
    "model.convolution_sites": (),
    "model.convolution_width": 4,
}
_OFFSET, _SMEAR = {"model.key_offset": 0.5}, {"model.embedding_smear": 12}
_MOST_LAYERS = (0, 1, 2)  # of four
_ROPE_ON_MOST = dict(_ROPE, layers=_MOST_LAYERS)
_WINDOW = dict(name="sliding_window", size=17, layers=_MOST_LAYERS)
# The encodings of published models that treat their layers differently.
HYBRIDS = {"SmolLM3": (_ROPE_ON_MOST,), "Command R7B": (_ROPE_ON_MOST, _WINDOW)}


def _canon(width):
    sites = convolution.SITES[convolution.WITH]
    return {"model.convolution_sites": sites, "model.convolution_width": width}


# Encodings and other settings of each row.
ROWS: dict[str, tuple[tuple[dict[str, Any], ...], dict[str, Any]]] = {
    "rope": ((_ROPE,), {}),
    "quarter rope": ((dict(_ROPE, fraction=0.25),), {}),
    "half rope": ((_HALF,), {}),
    "half rope, base 1024": ((dict(_HALF, base=1024.0),), {}),
    "rope + key offset": ((_ROPE,), _OFFSET),
    "half rope + key offset": ((_HALF,), _OFFSET),
    "rope + smear": ((_ROPE,), _SMEAR),
    "nope + smear": ((_NOPE,), _SMEAR),
    "nope + convolutions of 2": ((_NOPE,), _canon(2)),
    "nope + convolutions of 3": ((_NOPE,), _canon(3)),
    "nope + convolutions of 4": ((_NOPE,), _canon(4)),
    "rope + convolution at F": ((_ROPE,), {"model.convolution_sites": ("F",)}),
    "rope + convolution at K": ((_ROPE,), {"model.convolution_sites": ("K",)}),
    "rope + four convolutions": ((_ROPE,), {"model.convolution_sites": ("F", "K", "O", "V")}),
    "rope + xsa": ((_ROPE, dict(name="xsa", learned=True)), {}),
    **{name: (encodings, {}) for name, encodings in HYBRIDS.items()},
}
_SMALL = ("rope", "half rope + key offset", "nope + convolutions of 3")
_MIDDLE = (*_SMALL, "half rope", "nope + smear", "rope + four convolutions")
_COPYING_ONLY = (
    "half rope, base 1024",
    "rope + key offset",
    "nope + convolutions of 2",
    "nope + convolutions of 4",
)
_COPYING = tuple(name for name in ROWS if name not in {*HYBRIDS, "rope + xsa"})
ROWS_OF_FORMS = {
    "": (*(name for name in _COPYING if name not in _COPYING_ONLY), "rope + xsa"),
    "copying": _COPYING,
    "text_wide": (*_SMALL, "quarter rope", "rope + four convolutions"),
    "deep": (*_SMALL, *HYBRIDS),
    "recall": _MIDDLE,
    "flip_flop": _MIDDLE,
    "text_muon": (*_SMALL[:2], "quarter rope"),
}
CONTRASTS = (
    ("quarter rope", "rope"),
    ("half rope", "rope"),
    ("half rope, base 1024", "half rope"),
    ("rope + key offset", "rope"),
    ("half rope + key offset", "half rope"),
    ("half rope + key offset", "rope"),
    ("rope + smear", "rope"),
    ("nope + smear", "rope"),
    ("nope + convolutions of 3", "rope"),
    ("nope + convolutions of 3", "nope + convolutions of 2"),
    ("nope + convolutions of 4", "nope + convolutions of 3"),
    ("rope + convolution at F", "rope"),
    ("rope + convolution at K", "rope"),
    ("rope + four convolutions", "rope"),
    ("rope + xsa", "rope"),
    ("SmolLM3", "rope"),
    ("Command R7B", "rope"),
)


def get_config(form=""):
    if form not in TEXTS:
        c = suite_grid.get_config(form)
        if form != "smoke":
            c.model.num_layers = TASKS[form][1]
        return c
    c = real_text.get_config()
    windows = dict(within_documents=True, longest=max(LENGTHS), align="end")
    c.task = dict(name="language_model", dataset=CORPUS, **windows)
    c.evaluate.lengths = LENGTHS
    width = TEXTS[form][0]
    c.model.update(width=width, feedforward_width=4 * width)
    if form == "text_muon":
        c.train.optimizer = dict(name="muon")
    return c


def sweep(form=""):
    if form == "smoke":
        tiny = {"copy repeated": (suite_grid.TASKS["copy repeated"][0], 4, 12)}
        rows = _rows(("half rope + key offset", "nope + smear"))
        return grid.product(rows, suite_grid.tasks(tiny), {"seed": range(1)})
    steps = [grid.labelled(f"{number:,} steps", number) for number in budgets(form)]
    rates = RATES_OF_TEXT if form in TEXTS else RATES
    axes = {"train.steps": steps, "train.learning_rate": rates, "seed": range(SEEDS)}
    tasks = [] if form in TEXTS else _tasks(form)
    return grid.product(*filter(None, (_rows(ROWS_OF_FORMS[form]), tasks, axes)))


def budgets(form):
    """The numbers of training steps of a form."""
    if form in TEXTS:
        return TEXTS[form][1]
    task, _, divisors = TASKS[form]
    return tuple(suite_grid.TASKS[task][2] // divisor for divisor in divisors)


def contrasts(form):
    """The contrasts of which a form has both rows."""
    rows = ROWS_OF_FORMS.get(form, ())
    return tuple(pair for pair in CONTRASTS if set(pair) <= {*rows})


def points(form):
    """The multiples of the training length at which a form compares rows."""
    return POINTS_OF_TEXT if form in TEXTS else POINTS


def shared_end(mean_a, mean_b):
    """Return "floor" or "ceiling" if two means of exact match are both there, "" if not.

    The rule takes no such difference of a task for none.
    """
    if max(mean_a, mean_b) < FLOOR:
        return "floor"
    return "ceiling" if min(mean_a, mean_b) > CEILING else ""


def _rows(names):
    rows = []
    for name in names:
        encodings, settings = ROWS[name]
        hidden = {path: [grid.labelled("", value)] for path, value in {**_OFF, **settings}.items()}
        rows += grid.product({"model.encodings": [grid.labelled(name, encodings)]}, hidden)
    return rows


def _tasks(form):
    name = TASKS[form][0]
    tasks = suite_grid.tasks({name: suite_grid.TASKS[name]})
    return [{path: c for path, c in task.items() if path != "train.steps"} for task in tasks]


def analysis(form=""):
    if form == "smoke":  # it lacks most of the rows
        return {}
    spec = dict(
        question="Do claims of public speedruns about positions hold in small models?",
        contrasts=tuple(dict(a=a, b=b, at=at) for at in points(form) for a, b in contrasts(form)),
        tuned=("train.learning_rate",),
    )
    if form in TEXTS:
        return dict(spec, extrapolation=dict(at=max(POINTS_OF_TEXT)))
    return spec
