"""Studies of made-up records in the real schema, for tests of analysis: every run's numbers follow
from its labels and seed.

    folder = synthetic.write(tmp_path, runs=500)  # every axis, offsets and failures
    folder = synthetic.write(tmp_path, encodings=("rope", "alibi"), rates=(), schemes=(), tasks=())

What is in it, where the study is large enough: a rate at which a run diverges, a run that failed,
an encoding whose table ends (null rows with the reason), logits that are not finite (null
likelihood), a scheme that tells the answer's length, one that shows the test's positions, a task
that nothing learns, and two groups of seeds: those that extend and those that do not.
"""

import itertools
import math

import numpy as np

from pe_lab.runs.records import record_rows
from tests.results import fake_study

LENGTHS, OFFSETS = (4, 8, 12, 16, 24, 32), (0, 16)
TRAINED = 8  # symbols
ENCODINGS = ("rope", "alibi", "t5_bias", "learned", "nope")
SCHEMES = ("contiguous", "shifted", "randomized")
TASKS = ("copy", "reverse", "sort")
RATES = ("0.001", "0.003", "0.01")
_COUNT = 512  # examples a length
# Training lengths that exact match half survives.
_REACH = {"rope": 1.3, "alibi": 3.0, "t5_bias": 2.2, "learned": 1.0, "nope": 1.6}
_MAX_POSITION = {"contiguous": 2 * TRAINED + 1, "shifted": 97, "randomized": 97}
_ERRORS = {"diverged": "the loss or its gradient was not finite at step 120"}
_ERRORS["failed"] = "out of memory"


def write(
    folder,
    *,
    runs=None,
    tasks=TASKS,
    encodings=ENCODINGS,
    schemes=SCHEMES,
    rates=RATES,
    seeds=4,
    offsets=OFFSETS,
    analysis=None,
    missing=(),
    name="synthetic",
):
    """Writes study.json and the records of the first `runs` points (all if None); an empty axis is
    left out.

    Args:
      analysis: the analysis spec; by default empty.
      missing: indices of points without a record.
    """
    axes = {
        "task": tasks,
        "model.encodings": encodings,
        "positions": schemes,
        "train.learning_rate": rates,
    }
    axes = {axis: labels for axis, labels in axes.items() if labels}
    points = list(itertools.product(*axes.values()))
    if runs is not None:
        seeds = math.ceil(runs / len(points))
    entries = []
    for index, (point, seed) in enumerate(itertools.product(points, range(seeds))):
        labels = {**dict(zip(axes, point, strict=True)), "seed": str(seed)}
        run_id = f"{index:016x}"
        is_missing = index in missing
        entries.append((labels, run_id if is_missing else record(run_id, labels, offsets)))
    return fake_study.write_study(folder, *entries[:runs], name=name, analysis=analysis)


def record(run_id, labels, offsets=OFFSETS):
    """A complete record of the run with these labels."""
    task, encoding = labels.get("task", "copy"), labels.get("model.encodings", "rope")
    scheme = labels.get("positions", "contiguous")
    rate, seed = float(labels.get("train.learning_rate", 0.003)), int(labels["seed"])
    status = "finished"
    if rate == 0.01 and encoding == "nope" and seed % 3 == 0:
        status = "diverged"
    if (task, encoding, scheme, rate, seed) == ("sort", "alibi", "shifted", 0.001, 1):
        status = "failed"
    made = fake_study.record(
        run_id,
        seed,
        task=task,
        scheme=scheme,
        status=status,
        max_length=TRAINED,
        steps=800,
        max_position=None if encoding == "nope" else _MAX_POSITION[scheme],
        reveals=scheme == "randomized",
    )
    made["config"] = _config(task, encoding, scheme, rate, seed)
    made["member"] |= {"learning_rate": rate, "weight_decay": 0.01, "init_from": None}
    made["error"] = _ERRORS.get(status)
    made["scale_ratio"] = {"initial": [], "final": []}
    made["provenance"] = _PROVENANCE
    if status == "finished":
        run = _Run(task, encoding, scheme, rate, seed)
        made |= {"rows": run.rows(offsets), "curve": run.curve()}
        made["checkpoint"] = {"cell": "c" * 16, "step": 800, "member": seed}
    if status != "failed":
        level = {"token_accuracy": 0.05, "exact_match": 0.0, "count": 1000}
        made["chance_levels"] = [{"length": length, **level} for length in LENGTHS]
        made["cost"] = _cost(encoding)
    return made


class _Run:
    """The numbers of one run."""

    def __init__(self, task, encoding, scheme, rate, seed):
        self.encoding = encoding
        key = [seed, *(sum(map(ord, text)) for text in (task, encoding, scheme)), round(rate * 1e4)]
        self.rng = np.random.default_rng(key)
        extends = self.rng.random() < 0.6  # two groups of seeds
        self.reach = _REACH[encoding] * (1.5 if scheme != "contiguous" else 1.0)
        self.reach *= (1.0 if extends else 0.6) * self.rng.uniform(0.9, 1.1)
        self.best = 0.995 if rate == 0.001 else 1.0
        if task == "sort" or (encoding == "nope" and seed % 2):
            self.best = 0.6
        self.odd = encoding == "nope" and seed == 2  # logits that are not finite

    def exact(self, length):
        if length <= TRAINED:
            return round(self.best * _COUNT) / _COUNT
        beyond = math.log2(length / TRAINED) - math.log2(max(self.reach, 1.01)) - 0.3
        return round(self.best / (1 + math.exp(6 * beyond)) * _COUNT) / _COUNT

    def rows(self, offsets):
        tests = [("test", length, offset) for length in LENGTHS for offset in offsets]
        points = [("validation", n, 0) for n in LENGTHS if n <= TRAINED] + tests
        return [row for point in points for row in self._at(*point)]

    def _at(self, split, length, offset):
        def row(metric, value, count=_COUNT, reason=None):
            return record_rows.row(split, length, offset, metric, value, count, reason)

        if self.encoding == "learned" and 2 * length + 2 + offset > 50:
            reason = f"learned has positions 0..49; length {length} asks for more"
            return [row("exact_match", None, 0, reason)]
        exact = self.exact(length)
        if offset and self.encoding in ("learned", "nope"):
            exact = round(exact * 0.5 * _COUNT) / _COUNT
        num_tokens = length + 1
        num_wrong = _COUNT - round(exact * _COUNT)
        wrong = self.rng.multinomial(num_wrong, [1 / num_tokens] * num_tokens)
        likelihood = row("negative_log_likelihood", -math.log(max(exact, 1e-3)) / num_tokens + 1e-4)
        if self.odd and split == "test" and length > 16:
            reason = "the logits of 3 of 512 examples are not finite"
            likelihood |= {"value": None, "reason": reason}
        return [
            row("exact_match", exact),
            row("exact_match_without_end", min(1.0, exact + 1 / 64)),
            row("token_accuracy", exact ** (1 / num_tokens)),
            likelihood,
            row("first_error", wrong.tolist()),
        ]

    def curve(self):
        points = []
        for step in (0, 200, 400, 600, 800):
            grown = {str(n): self.exact(n) * step / 800 for n in (8, 16)}
            loss = 3.0 * math.exp(-step / 200) if step else None
            points.append({"step": step, "loss": loss, "exact_match": grown, "scale_ratio": []})
        return points


_PROVENANCE = {
    "commit": "0" * 40,
    "dirty": False,
    "python": "3.11",
    "versions": {},
    "device": "cpu: cpu",
    "execution": {},
    "sources": {},
}


def _config(task, encoding, scheme, rate, seed):
    return {
        "seed": seed,
        "data_seed": seed,
        "task": {"name": task, "num_symbols": 24},
        "positions": {"name": scheme},
        "layout": {
            "name": "decoder",
            "end_token": True,
            "examples_per_context": 1,
            "document_mask": True,
        },
        "model": {
            "width": 64,
            "num_layers": 2,
            "num_heads": 4,
            "encodings": [{"name": encoding, "reads_positions": encoding != "nope"}],
        },
        "train": {
            "steps": 800,
            "batch_size": 32,
            "min_length": 1,
            "max_length": TRAINED,
            "learning_rate": rate,
            "weight_decay": 0.01,
        },
        "evaluate": {
            "lengths": list(LENGTHS),
            "offsets": list(OFFSETS),
            "num_examples": _COUNT,
            "changes": [],
        },
        "checkpoints": {"interval": 60.0, "keep_final": True},
        "execution": {"members": "auto"},
        "init_from": None,
    }


def _cost(encoding):
    parameters = 103_296 + 20_000 * len(encoding)
    return {
        "steps": 800,
        "train_seconds": 6.0 + len(encoding) / 4,
        "compile_seconds": 3.5,
        "steps_per_second": 113.0,
        "train_flops": 1.7e12 * parameters,
        "parameters": parameters,
        "members": 4,
        "memory": None,
    }
