"""Ten tasks and four variants of copying and reversal, for a decoder without positions and four
encodings: does NoPE extend furthest?

    pe-lab sweep configs/papers/kazemnejad10.py
    pe-lab sweep configs/papers/kazemnejad10.py:scaled  # about 2.6 hours
    pe-lab sweep configs/papers/kazemnejad10.py:longer  # three tasks, more steps and seeds
    pe-lab sweep configs/papers/kazemnejad10.py:smoke   # one small run

Protocol of Kazemnejad et al. 2023 (https://arxiv.org/abs/2305.19466): T5-base as a decoder (12
layers, width 768, 12 heads, tied and scaled output), AdamW at 3e-5 with decay 0.05, linear after
6 % warm-up, 40,000 steps of 64, 100,000 training examples, lengths from 4 (parity: 3) to 20 (copy,
reverse, repeat, replace and their variants) or 8 (the others) and up to twice as many in the test,
three seeds, the last checkpoint; exact match by length. RoPE turns a quarter of each head. Addition
is trained on every pair of 1 to 8 digits, equally often; in its test, at least one operand is
longer than in training. 210 runs: for a cluster.

Compared with the authors' code, McGill-NLP/length-generalization at 40f8a44: configs/t5_dec_base,
hp_base, final, trainer/base_model, models/ and data/ (.jsonnet), scripts/dataset_builders,
src/models/custom_t5_decoder_only.py.

Differs:
- Examples are symbols. The authors write them in English and use T5's tokenizer.
- The feed-forward has biases. Attention divides by the root of the head width, where T5 starts with
  smaller weights.
- The learning rate is the authors' final one. Their search over three rates and two decays is left
  out.
- Training draws lengths and pairs uniformly, and validation is drawn anew. The authors' training
  set has equally many examples of each.
- Validation of addition has examples whose longest operand has 8 digits. The authors' has all 64
  pairs.
- In a test of addition, both operands have n digits in one example of n. The authors have every
  pair of digits equally often.
- SCAN (in pe_lab the task `scan`), PCFG and CLUTRR are left out.

Scaled: the ten tasks with 2 layers, width 64 and 4 heads, copying and reversal with lengths 4..10
and up to 20 in the test, 4,000 steps of 32 at 1e-3 without dropout, six seeds (40 contrasts need
them), the other settings as above.

Longer: repeating, replacing and sorting, with the scaled form's models, 6,000 steps of which 360
warm up, and eight seeds. Repeating and replacing are trained up to 10 and sorting up to 8, and the
test is twice as long. Each claim is read at 1.5 times the training length, on each task and on the
mean over the tasks that both sides solve. It was declared before any run of this config but a
pilot: a decoder without positions with one seed that the form does not have (100). The pilot solves
these three tasks, and was tested at longer lengths too. It has an exact match of 0.88 on copying of
distinct symbols after 10,000 steps, and does not learn reversal, modular_sum, polynomial or lego.
So the form has tasks that suit a decoder without positions. A first design, which was not trained,
had four layers, 16,000 steps and the five tasks copying, reversal, repeating, sorting and
modular_sum: 19 core-hours by estimate.
"""

from configs.papers import forms
from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke", "scaled", "longer")

AUTHORS = (
    "Kazemnejad et al. 2023, mean of three seeds: McGill-NLP/length-generalization at 40f8a44, "
    "results/sanity_check.jsonl, test_acc of the best_run_seed_exp runs of cmc (copy), mc "
    "(reverse), rsc (repeat), rdc (replace), cmc2x (copy twice), mc2x (reverse twice), mcrv "
    "(reverse, then copy) and rsc2x (repeat twice), each _tr20_ts40"
)
# Exact match at these lengths. The file has all lengths from 21 to 40.
LENGTHS = (21, 22, 24, 26, 28, 30, 32, 36, 40)
PUBLISHED = {
    "copy": {
        "nope": (0.788, 0.743, 0.722, 0.687, 0.499, 0.173, 0.025, 0.0, 0.0),
        "sinusoidal": (0.543, 0.012, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "alibi": (0.823, 0.769, 0.751, 0.713, 0.568, 0.229, 0.035, 0.0, 0.0),
        "t5_bias": (0.803, 0.764, 0.747, 0.715, 0.677, 0.555, 0.368, 0.017, 0.0),
        "rope": (0.037, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.028, 0.0),
    },
    "reverse": {
        "nope": (0.991, 0.979, 0.805, 0.235, 0.019, 0.0, 0.0, 0.0, 0.0),
        "sinusoidal": (0.461, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "alibi": (0.997, 0.986, 0.451, 0.001, 0.0, 0.0, 0.0, 0.0, 0.0),
        "t5_bias": (0.994, 0.985, 0.845, 0.313, 0.019, 0.0, 0.0, 0.0, 0.0),
        "rope": (0.789, 0.327, 0.132, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    },
    "repeat": {
        "nope": (0.999, 0.997, 0.993, 0.993, 0.991, 0.989, 0.987, 0.977, 0.963),
        "sinusoidal": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "alibi": (0.999, 0.998, 0.983, 0.638, 0.029, 0.0, 0.0, 0.0, 0.0),
        "t5_bias": (1.0, 0.998, 0.993, 0.993, 0.984, 0.941, 0.836, 0.52, 0.212),
        "rope": (0.004, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    },
    "replace": {
        "nope": (1.0, 0.998, 0.994, 0.993, 0.983, 0.971, 0.961, 0.944, 0.917),
        "sinusoidal": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "alibi": (0.999, 0.985, 0.487, 0.001, 0.0, 0.0, 0.0, 0.0, 0.0),
        "t5_bias": (0.998, 0.99, 0.956, 0.913, 0.905, 0.917, 0.949, 0.942, 0.912),
        "rope": (0.313, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    },
    "copy twice": {
        "nope": (0.945, 0.941, 0.922, 0.915, 0.769, 0.425, 0.111, 0.001, 0.0),
        "sinusoidal": (0.79, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "alibi": (0.991, 0.99, 0.974, 0.966, 0.905, 0.775, 0.539, 0.066, 0.0),
        "t5_bias": (0.977, 0.975, 0.958, 0.939, 0.876, 0.725, 0.411, 0.021, 0.0),
        "rope": (0.827, 0.015, 0.002, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    },
    "reverse twice": {
        "nope": (0.982, 0.978, 0.946, 0.902, 0.805, 0.577, 0.249, 0.003, 0.0),
        "sinusoidal": (0.22, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "alibi": (0.988, 0.975, 0.608, 0.083, 0.0, 0.0, 0.0, 0.0, 0.0),
        "t5_bias": (0.989, 0.981, 0.958, 0.873, 0.703, 0.441, 0.203, 0.011, 0.0),
        "rope": (0.941, 0.128, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    },
    "reverse, then copy": {
        "nope": (0.963, 0.941, 0.642, 0.01, 0.0, 0.0, 0.0, 0.0, 0.0),
        "sinusoidal": (0.005, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "alibi": (0.996, 0.974, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "t5_bias": (0.969, 0.919, 0.226, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "rope": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    },
    "repeat twice": {
        "nope": (0.993, 0.989, 0.986, 0.99, 0.98, 0.985, 0.975, 0.944, 0.93),
        "sinusoidal": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        "alibi": (0.995, 0.984, 0.527, 0.168, 0.0, 0.0, 0.0, 0.0, 0.0),
        "t5_bias": (0.994, 0.985, 0.983, 0.979, 0.914, 0.648, 0.425, 0.121, 0.009),
        "rope": (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    },
}
COPIES = [  # trained to 20, tested to 40
    grid.labelled("copy", dict(name="copy", num_symbols=100, distinct=False)),
    grid.labelled("reverse", dict(name="reverse", num_symbols=100)),
    dict(name="repeat"),
    dict(name="replace"),
]
VARIANTS = [  # of the tasks above, with the same lengths
    grid.labelled("copy twice", dict(name="duplicate", num_symbols=100, separator=True)),
    grid.labelled("reverse twice", dict(name="reverse_twice")),
    grid.labelled("reverse, then copy", dict(name="reverse_twice", second="original")),
    grid.labelled("repeat twice", dict(name="repeat", times=2)),
]
SHORT = [  # trained to 8, tested to 16
    dict(name="polynomial"),
    grid.labelled("sort", dict(name="sort", num_symbols=50, distinct=False)),
    *(dict(name=name) for name in ("modular_sum", "lego")),
]
ADDITION = [grid.labelled("addition", dict(name="addition", padding="none", reverse_answer=False))]
PARITY = [dict(name="parity")]
ENCODINGS = [
    (dict(name="nope"),),
    (dict(name="sinusoidal"),),
    (dict(name="alibi"),),
    (dict(name="t5_bias"),),
    grid.labelled("rope", (dict(name="rope", fraction=0.25),)),
]
OTHERS = ("t5_bias", "alibi", "rope", "sinusoidal")


def get_config(form=""):
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
    if form in ("scaled", "longer"):
        c.model.update(width=64, num_layers=2, num_heads=4, feedforward_width=256, dropout=0.0)
        c.train.update(steps=4000, batch_size=32, warmup_steps=240, learning_rate=1e-3)
        c.evaluate.update(num_examples=500, curve_every=1000)
    if form == "longer":
        c.train.update(steps=6000, warmup_steps=360)
        c.evaluate.curve_every = 2000
    if form == "smoke":
        forms.smoke(c)
        c.train.min_length = 2  # of the shortest chain of lego
        c.evaluate.num_examples = 16  # its chains are long
    return c


def sweep(form=""):
    if form == "smoke":
        last = {"model.encodings": ENCODINGS[-1:]}
        return grid.product({"task": SHORT[-1:]}, last, {"seed": range(1)})
    if form == "longer":
        tasks = grid.concat(trained_on(4, 10, COPIES[2:]), trained_on(4, 8, SHORT[1:2]))
        return grid.product(tasks, {"model.encodings": ENCODINGS}, {"seed": range(8)})
    # Every pair of 1 to 8 digits is equally likely, as length 8 alone gives.
    pairs = {"train.lengths": dict(name="fixed"), "evaluate.validation_lengths": (8,)}
    tasks = grid.concat(
        trained_on(
            4, 10 if form == "scaled" else 20, COPIES if form == "scaled" else COPIES + VARIANTS
        ),
        trained_on(1, 8, ADDITION, pairs),
        trained_on(4, 8, SHORT),
        trained_on(3, 8, PARITY),
    )
    return grid.product(
        tasks, {"model.encodings": ENCODINGS}, {"seed": range(6 if form == "scaled" else 3)}
    )


def trained_on(shortest, longest, tasks, settings=None):
    """Points of tasks that are trained on these lengths and tested up to twice the longest."""
    step = 2 if longest < 20 else 4
    tested = {*range(4, 2 * longest + 1, step), round(1.5 * longest)}
    if longest == 20:
        tested |= {*LENGTHS}
    values = {
        "train.min_length": shortest,
        "train.max_length": longest,
        "evaluate.lengths": tuple(sorted(tested)),
        "evaluate.curve_lengths": (longest, 2 * longest),
    }
    values |= settings or {}
    return grid.product(
        {"task": tasks}, {path: [grid.labelled("", value)] for path, value in values.items()}
    )


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    figures = [
        (f"{task} · {encoding}", length, value)
        for task, by_encoding in PUBLISHED.items()
        for encoding, values in by_encoding.items()
        for length, value in zip(LENGTHS, values, strict=True)
    ]
    # The scaled form does not train on the lengths of the figures.
    literature = () if form in ("scaled", "longer") else (dict(source=AUTHORS, figures=figures),)
    claims = tuple(
        dict(text=f"Without positions, models extend further than with {other}.", a="nope", b=other)
        for other in OTHERS
    )
    if form == "longer":
        claims = tuple(
            dict(claim, at=1.5, is_mean=is_mean) for claim in claims for is_mean in (False, True)
        )
    return dict(
        question="Does a decoder without positions extend further than one with explicit ones?",
        contrasts=tuple(("nope", other) for other in OTHERS),
        reproduction=dict(
            paper="Kazemnejad et al. 2023",
            claims=claims,
        ),
        literature=literature,
    )
