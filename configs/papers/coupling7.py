"""Seven tasks whose structure says what belongs together: coupled positions, positions with a
random start, and none.

    python -m experiments.sweep --config=configs/papers/coupling7.py
    python -m experiments.sweep --config=configs/papers/coupling7.py:scaled  # about 100 minutes
    python -m experiments.sweep --config=configs/papers/coupling7.py:smoke  # one small run

Protocol of Cho et al. 2024 (https://arxiv.org/abs/2405.20671): decoder of width 512 with learned
positions, gated GELU and a norm before and after each sublayer; a million fixed training examples,
AdamW (0.9, 0.95) without decay at 1e-4, cosine to a tenth after 1 % warm-up, 50,000 steps of 1000,
clipping at 1; teacher-forced exact match, median over four seeds of the weights by two of the data.
Layers, heads and lengths differ by task (TASKS below); the baselines have 6 layers and 8 heads. In
a test of length n, every operand has exactly n digits. 152 runs: for a cluster.

Compared with the authors' code, HanseulJo/position-coupling at b9cad94: run_* and eval_* of
scripts/addition, triple_addition, Nx2multiplication, copy, reverse, minesweeper_generator and
parity (with scratchpad), configs/ and src/data. Two scripts disagree about addition:
run_coupling.sh is of a later experiment (width 1024, 100,000 examples, positions up to 150), so
eval_coupling.sh is followed (positions up to 202).

Differs:
- The feed-forward has biases. Attention divides by the root of the head width, where the authors
  start with smaller weights.
- The last weights are tested. The authors choose the best checkpoint by the loss on the test
  lengths.
- Tests have 1,000 examples a length. The authors' have 100,000.
- Minesweeper separates the rows of its prompt and draws the longer side alone, where the authors
  draw both sides. It has two tables of positions. The authors also train a model with a shared one.
- The authors' NoPE baseline of addition has width 1024.

Scaled: operands of up to 10 digits, tested to 30; width 64, the authors' layers and heads, at most
2 layers, 5,000 steps of 64 at 1e-3, three seeds. Minesweeper: sides 5..6, tested to 8.
"""

import dataclasses

from configs import base
from configs.papers import forms
from pe_lab.runs import grid


@dataclasses.dataclass(frozen=True)
class Protocol:
    """A task with the sizes, lengths and batches of its scripts."""

    task: dict
    layers: int
    heads: int
    longest: int  # in training
    tested: int
    max_position: int  # of coupled positions
    batch_size: int = 1000
    random_total: int | None = None  # positions of the baseline with a random start
    settings: dict = dataclasses.field(default_factory=dict)  # that differ from get_config()


TASKS = {
    "addition": Protocol(dict(name="addition"), 1, 4, 30, 200, 202, random_total=603),
    "three operands": Protocol(
        dict(name="addition", operands=3, padding="answer"), 1, 4, 40, 100, 301, random_total=1023
    ),
    "N x 2 multiplication": Protocol(
        dict(name="multiplication", other_digits=2), 2, 8, 40, 200, 203, random_total=1023
    ),
    "copy": Protocol(
        dict(name="copy", num_symbols=10, distinct=False), 1, 4, 40, 300, 301, random_total=601
    ),
    "reverse": Protocol(dict(name="reverse", num_symbols=10), 1, 4, 40, 300, 301, random_total=601),
    "parity with scratchpad": Protocol(
        dict(name="parity", answer="scratchpad"),
        6,
        8,
        20,
        50,
        101,
        batch_size=20,
        settings={"train.num_examples": 10_000, "train.learning_rate": 3e-5},
    ),
}
MINESWEEPER = Protocol(
    dict(name="minesweeper"),
    4,
    8,
    9,
    12,
    15,  # 16 in the script, which starts at 1
    batch_size=800,
    settings={"train.min_length": 5, "train.steps": 100_000},
)
SCALED = dict(longest=10, tested=30, max_position=32, batch_size=64, settings={})
SCALED_GRID = dict(
    longest=6, tested=8, max_position=8, batch_size=64, settings={"train.min_length": 5}
)


def get_config(smoke=False, scaled=False):
    c = base.get_config()
    c.model.update(
        width=512, feedforward_width=2048, activation="geglu", norm="rms", norm_position="both"
    )
    c.train.update(
        steps=50_000,
        criterion=None,
        num_examples=1_000_000,
        warmup_steps=500,
        learning_rate=1e-4,
        beta2=0.95,
        weight_decay=0.0,
    )
    c.evaluate.update(num_examples=1000, curve_every=5000)
    c.evaluate.exact_operands = "all"  # the authors test operands of exactly n digits each
    if scaled:
        c.model.update(width=64, feedforward_width=256)
        c.train.update(steps=5000, warmup_steps=50, learning_rate=1e-3)
        c.evaluate.update(num_examples=250, curve_every=1000)
    if smoke:
        forms.smoke(c, trained=6, tested=9)
    return c


def variants(name, protocol, scaled):
    """Points of a task: coupled positions at its own size, and the baselines at one size."""
    most_layers = 2 if scaled else 6
    layers = min(protocol.layers, most_layers)
    table = (dict(name="learned", max_positions=1024),)
    coupled = dict(name="coupled", max_position=protocol.max_position)
    if name == "minesweeper":
        table = tuple(dict(name="learned", max_positions=128, axis=axis) for axis in (0, 1))
        coupled = dict(name="grid", max_position=protocol.max_position)
    label = "coupled in the grid" if name == "minesweeper" else "coupled"
    points = point(name, protocol, grid.labelled(label, table), coupled, layers)
    baseline = dataclasses.replace(protocol, heads=8)
    if protocol.random_total is not None:
        start = dict(name="shifted_within", total=protocol.random_total)
        learned = grid.labelled("random start", table)
        points += point(name, baseline, learned, start, most_layers)
    contiguous = dict(name="contiguous")
    return points + point(name, baseline, (dict(name="nope"),), contiguous, most_layers)


def point(name, protocol, encodings, scheme, layers):
    """One variant. Labels of what follows from its task and encodings are empty."""
    step = 5 if protocol.longest >= 10 else 1
    values = {
        "positions": scheme,
        "model.num_layers": layers,
        "model.num_heads": protocol.heads,
        "train.max_length": protocol.longest,
        "train.batch_size": protocol.batch_size,
        "evaluate.lengths": tuple(range(5, protocol.tested + 1, step)),
        "evaluate.curve_lengths": (protocol.longest, protocol.tested),
    }
    values |= protocol.settings
    return grid.product(
        {"task": [grid.labelled(name, protocol.task)]},
        {"model.encodings": [encodings]},
        {path: [grid.labelled("", value)] for path, value in values.items()},
    )


def sweep(smoke=False, scaled=False):
    if smoke:  # without the sizes of a protocol, which would replace the small ones
        table = (dict(name="learned", max_positions=1024),)
        return grid.product(
            {"task": [grid.labelled("addition", TASKS["addition"].task)]},
            {"model.encodings": [grid.labelled("coupled", table)]},
            {"positions": [grid.labelled("", dict(name="coupled", max_position=202))]},
            {"seed": range(1)},
        )
    points = []
    for name, protocol in (TASKS | {"minesweeper": MINESWEEPER}).items():
        if scaled:
            changes = SCALED_GRID if name == "minesweeper" else SCALED
            protocol = dataclasses.replace(protocol, **changes)
            if protocol.random_total is not None:
                protocol = dataclasses.replace(protocol, random_total=128)
        points += variants(name, protocol, scaled)
    seeds = {"seed": range(3)} if scaled else {"seed": range(4)}
    return grid.product(points, seeds, {"data_seed": range(1 if scaled else 2)})


def analysis(scaled=False):
    figures = (("addition · coupled", 200, 0.95),)
    return dict(
        question="Do coupled positions extend seven tasks further than a random start or none?",
        contrasts=(("coupled", "random start"), ("coupled", "nope")),
        literature=(
            dict(
                source="Cho et al. 2024, abstract: more than this exact match, trained on 1 to 30 "
                "digits",
                figures=figures,
            ),
        ),
    )
