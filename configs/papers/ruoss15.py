"""The fifteen tasks of the Chomsky hierarchy, five encodings and none, with and without randomized
positions.

    pe-lab sweep configs/papers/ruoss15.py
    pe-lab sweep configs/papers/ruoss15.py:scaled  # about 3 hours
    pe-lab sweep configs/papers/ruoss15.py:longer  # five tasks with ten times the steps
    pe-lab sweep configs/papers/ruoss15.py:smoke   # one small run

Protocol of Ruoss et al. 2023 (https://arxiv.org/abs/2305.16843), on the tasks of Deletang et al.
2023 (https://arxiv.org/abs/2207.02098): encoder of 5 layers, width 64, 8 heads, post-norm, dropout
0.1, Adam with clipping at 1, batches of 128, one length a step from 1..40, ten seeds; token
accuracy over every position, mean over lengths 41..500, of the best rate and seed. Randomized
positions are drawn from 2048. 4,950 runs: for a cluster.

Compared with the authors' code, google-deepmind/randomized_positional_encodings at e8c6474:
experiments/ (example.py, training.py, constants.py, range_evaluation.py), models/ and
tasks/task.py; and with google-deepmind/neural_networks_chomsky_hierarchy at 2b8eb4b:
experiments/example.py. Both examples train for 10,000 steps at 1e-3 and test up to 100. The number
of steps here is Deletang et al.'s, a million; Ruoss et al.'s was not found, and neither were their
tables. Their abstract gives 12.0 points of accuracy more with randomized positions, on average.
This is the claim here, for each encoding: a mean over tasks, beyond the training lengths.

Differs:
- Dropout is off in evaluation. The authors leave it on.
- The authors' noisy ALiBi and noisy relative encodings draw sorted distances. Here positions are
  drawn, once for a batch in training, as in the authors' code, and for each example in the test.
- ALiBi is symmetric, so that its bias does not tell left from right. The authors move keys
  before the query half a step nearer.
- The table of learned positions has as many rows as randomized positions can be, with contiguous
  positions too. So contiguous positions of the test can be ones that were never trained.
- The relative encoding is Transformer-XL's, with sinusoids that count up from 0.
- The score of the authors' script starts at length 42.
- A token embedding replaces the product of one-hot input and matrix. The initialization differs,
  and with it the first layer's logits: tokens start with an rms of 1, and the authors' with 0.14.
  Learned positions start 6.25 times as large as tokens in both. Sinusoids have 0.71 times the rms
  of tokens here, and 5 times in the authors' code.
- The inputs of the answer are blanks, as in the authors' code, and it has no end token.

Scaled: 2 layers, lengths 1..10, tested at 14 lengths from 11 to 50, positions up to 256, 2,000
steps of 32 at the one rate 1e-3, five seeds.

Longer: the scaled form on five tasks with 20,000 steps, a cosine to 0 and eight seeds: even_pairs,
bucket_sort, cycle_navigation, missing_duplicate and reverse, which were chosen after the scaled
form. There the exact match at length 10 still rises from step 1,000 to 2,000 in 58 % of the runs,
and one task alone is solved by five seeds of both sides. The claims are those of the scaled form:
for each encoding, the mean over the tasks that five seeds of both sides solve. The page also gives
the mean over all five tasks, solved or not, with an interval over tasks, which is no claim. The
form was declared after the scaled form and before its own first run.
"""

from configs.papers import forms
from pe_lab.runs import grid
from pe_lab.studies import base

FORMS = ("smoke", "scaled", "longer")

TASKS = [
    dict(name=name)
    for name in (
        "even_pairs",
        "modular_arithmetic",
        "parity",
        "cycle_navigation",
        "stack_manipulation",
        "reverse",
        "modular_arithmetic_brackets",
        "solve_equation",
        "duplicate",
        "missing_duplicate",
        "odds_first",
        "binary_addition",
        "binary_multiplication",
        "compute_sqrt",
        "bucket_sort",
    )
]
LONGER_TASKS = ("even_pairs", "bucket_sort", "cycle_navigation", "missing_duplicate", "reverse")
LONGEST = 2048  # positions


def get_config(form=""):
    c = base.get_config()
    c.train.criterion = None  # a fixed budget
    c.layout.update(name="encoder", end_token=False)
    c.model.update(num_layers=5, num_heads=8, activation="relu", norm_position="post", dropout=0.1)
    c.train.update(
        steps=1_000_000,
        criterion=None,
        batch_size=128,
        max_length=40,
        length_per="step",
        loss_reduction="token",
        schedule="constant",
        warmup_steps=0,
        learning_rate=3e-4,
        beta2=0.999,
        weight_decay=0.0,
        clip_norm=1.0,
    )
    c.evaluate.update(lengths=tuple(range(1, 501)), curve_every=10_000, curve_lengths=(40, 100))
    c.execution.max_members = 30
    if form in ("scaled", "longer"):
        c.model.num_layers = 2
        c.train.update(steps=2000, batch_size=32, max_length=10, learning_rate=1e-3)
        c.evaluate.update(
            lengths=(5, 10, *range(11, 51, 3)),
            num_examples=256,
            curve_every=1000,
            curve_lengths=(10, 20),
        )
    if form == "longer":
        c.train.update(steps=20_000, schedule="cosine", final_rate_fraction=0.0)
        c.evaluate.curve_every = 2000
    if form == "smoke":
        forms.smoke(c)
    return c


def sweep(form=""):
    longest = 256 if form in ("scaled", "longer") else LONGEST
    once = dict(name="randomized", maximum=longest)
    each_layer = dict(name="randomized", maximum=longest, per_layer=True)
    encodings = {
        "none": (),
        "sinusoidal": (dict(name="sinusoidal"),),
        # The authors' ratio to tokens: TruncatedNormal(1) to sqrt(64) * TruncatedNormal(0.02).
        "learned": (dict(name="learned", max_positions=longest, init_std=6.25),),
        "relative": (dict(name="transformer_xl"),),
        "rope": (dict(name="rope"),),
        "alibi": (dict(name="alibi"),),
    }
    contiguous = grid.labelled("contiguous", dict(name="contiguous"))
    points = []
    for name, specs in encodings.items():
        scheme = _scheme(name)
        randomized = grid.labelled(scheme, once if scheme == "randomized" else each_layer)
        schemes = [contiguous] if name == "none" else [contiguous, randomized]
        encoding = grid.labelled(name, specs)
        if not (form == "longer" and name == "none"):
            points += grid.product({"model.encodings": [encoding]}, {"positions": schemes})
    if form == "longer":
        tasks = [task for task in TASKS if task["name"] in LONGER_TASKS]
        return grid.product({"task": tasks}, points, {"seed": range(8)})
    if form == "smoke":
        return grid.product({"task": TASKS[-1:]}, points[-1:], {"seed": range(1)})
    if form == "scaled":
        return grid.product({"task": TASKS}, points, {"seed": range(5)})
    rates = {"train.learning_rate": [1e-4, 3e-4, 5e-4]}
    return grid.product({"task": TASKS}, points, rates, {"seed": range(10)})


def _scheme(name):
    """The label of an encoding's randomized positions."""
    at_input = name in ("sinusoidal", "learned")
    return "randomized" if at_input else "randomized in each layer"


def analysis(form=""):
    if form == "smoke":  # it lacks some of the variants
        return {}
    is_scaled = form in ("scaled", "longer")
    number_of_tasks = "five" if form == "longer" else "fifteen"
    trained, tested = (10, 50) if is_scaled else (40, 500)
    accuracy = dict(name="token_accuracy", lengths=(trained + 1, tested))
    beyond = "Token accuracy beyond the training lengths"
    tables = [
        dict(
            title=title,
            rows="task",
            columns=("model.encodings", "positions"),
            metric=dict(accuracy, show=show),
        )
        for title, show in ((beyond, "median"), (f"{beyond}, best seed", "best"))
    ]
    claims = tuple(
        dict(
            text=f"With randomized positions, {name} is better on average over the tasks.",
            a=f"{name} · {_scheme(name)}",
            b=f"{name} · contiguous",
            metric="token_accuracy",
            lengths=(trained + 1, tested),
            is_mean=True,
        )
        for name in ("sinusoidal", "learned", "relative", "rope", "alibi")
    )
    return dict(
        question="Do randomized positions let each encoding extend to lengths beyond training, on "
        f"{number_of_tasks} tasks?",
        reproduction=dict(paper="Ruoss et al. 2023", claims=claims),
        tuned=() if is_scaled else ("train.learning_rate",),
        oracle="Ruoss et al. 2023, which gives the best rate and seed by the test",
        tables=tuple(tables),
    )
