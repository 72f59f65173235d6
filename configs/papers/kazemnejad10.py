"""Ten tasks for a decoder without positions and four encodings: does NoPE extend furthest?

    python -m experiments.sweep --config=configs/papers/kazemnejad10.py
    python -m experiments.sweep --config=configs/papers/kazemnejad10.py:scaled  # about 80 minutes
    python -m experiments.sweep --config=configs/papers/kazemnejad10.py:smoke  # one small run

Protocol of Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): T5-base as a decoder (12
layers, width 768, 12 heads, tied and scaled output), AdamW at 3e-5 with decay 0.05, linear after
6 % warm-up, 40,000 steps of 64, 100,000 training examples, lengths from 4 (parity: 3) to 20 (copy,
reverse, repeat, replace) or 8 (the others) and up to twice as many in the test, three seeds, the
last checkpoint; exact match by length. RoPE turns a quarter of each head. In a test of addition, at
least one operand is longer than in training. 150 runs: for a cluster.

Compared with the authors' code, McGill-NLP/length-generalization at 40f8a44: configs/t5_dec_base,
hp_base, final, trainer/base_model, models/ and data/ (.jsonnet), scripts/dataset_builders,
src/models/custom_t5_decoder_only.py.

Differs:
- Examples are symbols. The authors write them in English and use T5's tokenizer.
- The feed-forward has biases. Attention divides by the root of the head width, where T5 starts with
  smaller weights.
- The learning rate is the authors' final one. Their search over three rates and two decays is left
  out.
- Training draws lengths uniformly, and validation is drawn anew. The authors' training set has
  equally many examples of each length.
- SCAN (in pe_lab the task `scan`), PCFG and CLUTRR are left out.

Scaled: 2 layers, width 64 and 4 heads, lengths 4..10 (parity: 3..10) and up to 20 in the test of
the first four tasks, 4,000 steps of 32 at 1e-3 without dropout, the other settings as above.
"""

from configs import base
from configs.papers import forms
from pe_lab.runs import grid

AUTHORS = (
    "Kazemnejad et al. 2023, mean of three seeds: McGill-NLP/length-generalization at 40f8a44, "
    "results/sanity_check.jsonl, test_acc of "
)
# Exact match at lengths 24, 28, 32 and 40 of the groups cmc_tr20_ts40, mc_tr20_ts40, rsc_tr20_ts40
# and rdc_tr20_ts40 of the file.
LENGTHS = (24, 28, 32, 40)
PUBLISHED = {
    "copy": {
        "nope": (0.722, 0.499, 0.025, 0.0),
        "sinusoidal": (0.0, 0.0, 0.0, 0.0),
        "alibi": (0.751, 0.568, 0.035, 0.0),
        "t5_bias": (0.747, 0.677, 0.368, 0.0),
        "rope": (0.0, 0.0, 0.0, 0.0),
    },
    "reverse": {
        "nope": (0.805, 0.019, 0.0, 0.0),
        "sinusoidal": (0.0, 0.0, 0.0, 0.0),
        "alibi": (0.451, 0.0, 0.0, 0.0),
        "t5_bias": (0.845, 0.019, 0.0, 0.0),
        "rope": (0.132, 0.0, 0.0, 0.0),
    },
    "repeat": {
        "nope": (0.993, 0.991, 0.987, 0.963),
        "sinusoidal": (0.0, 0.0, 0.0, 0.0),
        "alibi": (0.983, 0.029, 0.0, 0.0),
        "t5_bias": (0.993, 0.984, 0.836, 0.212),
        "rope": (0.0, 0.0, 0.0, 0.0),
    },
    "replace": {
        "nope": (0.994, 0.983, 0.961, 0.917),
        "sinusoidal": (0.0, 0.0, 0.0, 0.0),
        "alibi": (0.487, 0.0, 0.0, 0.0),
        "t5_bias": (0.956, 0.905, 0.949, 0.912),
        "rope": (0.0, 0.0, 0.0, 0.0),
    },
}
LONG = [  # trained to 20, tested to 40
    grid.labelled("copy", dict(name="copy", num_symbols=100, distinct=False)),
    grid.labelled("reverse", dict(name="reverse", num_symbols=100)),
    dict(name="repeat"),
    dict(name="replace"),
]
SHORT = [  # trained to 8, tested to 16
    grid.labelled("addition", dict(name="addition", padding="none", reverse_answer=False)),
    dict(name="polynomial"),
    grid.labelled("sort", dict(name="sort", num_symbols=50, distinct=False)),
    *(dict(name=name) for name in ("modular_sum", "lego")),
]
PARITY = [dict(name="parity")]
ENCODINGS = [
    (dict(name="nope"),),
    (dict(name="sinusoidal"),),
    (dict(name="alibi"),),
    (dict(name="t5_bias"),),
    grid.labelled("rope", (dict(name="rope", fraction=0.25),)),
]


def get_config(smoke=False, scaled=False):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.model.update(
        width=768,
        num_layers=12,
        num_heads=12,
        feedforward_width=3072,
        activation="relu",
        norm="rms",
        dropout=0.1,
        tied_output=True,
    )
    c.train.update(
        steps=40_000,
        criterion=None,
        batch_size=64,
        num_examples=100_000,
        schedule="linear",
        warmup_steps=2400,
        final_rate_fraction=0.0,
        learning_rate=3e-5,
        beta2=0.999,
        weight_decay=0.05,
    )
    c.evaluate.update(num_examples=1000, curve_every=2000)
    c.evaluate.exact_operands = "longest"  # at least one operand is as long as the test says
    if scaled:
        c.model.update(width=64, num_layers=2, num_heads=4, feedforward_width=256, dropout=0.0)
        c.train.update(steps=4000, batch_size=32, warmup_steps=240, learning_rate=1e-3)
        c.evaluate.update(num_examples=500, curve_every=1000)
    if smoke:
        forms.smoke(c)
        c.train.min_length = 2  # of the shortest chain of lego
    return c


def sweep(smoke=False, scaled=False):
    if smoke:
        last = {"model.encodings": ENCODINGS[-1:]}
        return grid.product({"task": SHORT[-1:]}, last, {"seed": range(1)})
    tasks = grid.concat(
        trained_on(4, 10 if scaled else 20, LONG),
        trained_on(4, 8, SHORT),
        trained_on(3, 8, PARITY),
    )
    return grid.product(tasks, {"model.encodings": ENCODINGS}, {"seed": range(3)})


def trained_on(shortest, longest, tasks):
    """Points of tasks that are trained on these lengths and tested up to twice the longest."""
    values = {
        "train.min_length": shortest,
        "train.max_length": longest,
        "evaluate.lengths": tuple(range(4, 2 * longest + 1, 2 if longest < 20 else 4)),
        "evaluate.curve_lengths": (longest, 2 * longest),
    }
    return grid.product(
        {"task": tasks}, {path: [grid.labelled("", value)] for path, value in values.items()}
    )


def analysis(scaled=False):
    splits = {"copy": "cmc", "reverse": "mc", "repeat": "rsc", "replace": "rdc"}
    literature = []
    for task, by_encoding in PUBLISHED.items():
        figures = [
            (f"{task} · {encoding}", length, value)
            for encoding, values in by_encoding.items()
            for length, value in zip(LENGTHS, values, strict=True)
        ]
        literature.append(dict(source=f"{AUTHORS}{splits[task]}_tr20_ts40", figures=figures))
    return dict(
        question="Does a decoder without positions extend further than one with explicit ones?",
        contrasts=tuple(("nope", other) for other in ("t5_bias", "alibi", "rope", "sinusoidal")),
        literature=tuple(literature),
    )
