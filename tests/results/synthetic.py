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

from pe_lab.runs import record_rows, records

LENGTHS, OFFSETS = (4, 8, 12, 16, 24, 32), (0, 16)
TRAINED = 8  # symbols
ENCODINGS = ("rope", "alibi", "t5_bias", "learned", "nope")
SCHEMES = ("contiguous", "shifted", "randomized")
TASKS = ("copy", "reverse", "sort")
RATES = ("0.001", "0.003", "0.01")
_COUNT = 512  # examples a length
_REACH = {
    "rope": 1.3,
    "alibi": 3.0,
    "t5_bias": 2.2,
    "learned": 1.0,
    "nope": 1.6,
}  # training lengths that exact match half survives
_MAX_POSITION = {"contiguous": 2 * TRAINED + 1, "shifted": 97, "randomized": 97}


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
    points = [
        dict(zip(_AXES, p, strict=True))
        for p in itertools.product(*(_or_one(a) for a in (tasks, encodings, schemes, rates)))
    ]
    points = [{axis: text for axis, text in p.items() if text is not None} for p in points]
    if runs is not None:
        seeds = math.ceil(runs / len(points))
    entries = [{**p, "seed": str(s)} for p in points for s in range(seeds)][:runs]
    for i, labels in enumerate(entries):
        if i not in missing:
            records.write(folder, record(f"{i:016x}", labels, offsets))
    named = [{"labels": labels, "run_id": f"{i:016x}"} for i, labels in enumerate(entries)]
    records.write_json(
        folder / "study.json",
        {"name": name, **({"analysis": analysis} if analysis else {}), "entries": named},
    )
    return folder


_AXES = ("task", "model.encodings", "positions", "train.learning_rate")


def _or_one(axis):
    return axis or (None,)


def record(run_id, labels, offsets=OFFSETS):
    """A complete record of the run with these labels."""
    task, encoding = labels.get("task", "copy"), labels.get("model.encodings", "rope")
    scheme, rate, seed = (
        labels.get("positions", "contiguous"),
        float(labels.get("train.learning_rate", 0.003)),
        int(labels["seed"]),
    )
    status = "diverged" if rate == 0.01 and encoding == "nope" and seed % 3 == 0 else "finished"
    status = (
        "failed"
        if (task, encoding, scheme, rate, seed) == ("sort", "alibi", "shifted", 0.001, 1)
        else status
    )
    run = _Run(task, encoding, scheme, rate, seed)
    return {
        "run_id": run_id,
        "config": _config(task, encoding, scheme, rate, seed),
        "member": {
            "seed": seed,
            "data_seed": seed,
            "learning_rate": rate,
            "weight_decay": 0.01,
            "init_from": None,
        },
        "status": status,
        "error": {
            "finished": None,
            "diverged": "the loss or its gradient was not finite at step 120",
            "failed": "out of memory",
        }[status],
        "rows": run.rows(offsets) if status == "finished" else [],
        "chance_levels": []
        if status == "failed"
        else [
            {"length": n, "token_accuracy": 0.05, "exact_match": 0.0, "count": 1000}
            for n in LENGTHS
        ],
        "curve": run.curve() if status == "finished" else [],
        "cost": None if status == "failed" else _cost(encoding),
        "exposure": None if status == "failed" else _exposure(encoding, scheme),
        "scale_ratio": {"initial": [], "final": []},
        "checkpoint": {"cell": "c" * 16, "step": 800, "member": seed}
        if status == "finished"
        else None,
        "provenance": {
            "commit": "0" * 40,
            "dirty": False,
            "python": "3.11",
            "versions": {},
            "device": "cpu: cpu",
            "execution": {},
            "sources": {},
        },
    }


class _Run:
    """The numbers of one run."""

    def __init__(self, task, encoding, scheme, rate, seed):
        self.encoding, self.task = encoding, task
        key = [seed, *(sum(map(ord, text)) for text in (task, encoding, scheme)), round(rate * 1e4)]
        self.rng = np.random.default_rng(key)
        extends = self.rng.random() < 0.6  # two groups of seeds
        self.reach = (
            _REACH[encoding]
            * (1.5 if scheme != "contiguous" else 1.0)
            * (1.0 if extends else 0.6)
            * self.rng.uniform(0.9, 1.1)
        )
        self.best = (
            0.6
            if task == "sort" or (encoding == "nope" and seed % 2)
            else 0.995
            if rate == 0.001
            else 1.0
        )
        self.odd = encoding == "nope" and seed == 2  # logits that are not finite

    def exact(self, length):
        if length <= TRAINED:
            return round(self.best * _COUNT) / _COUNT
        drop = 1 / (
            1 + math.exp(6 * (math.log2(length / TRAINED) - math.log2(max(self.reach, 1.01)) - 0.3))
        )
        return round(self.best * drop * _COUNT) / _COUNT

    def rows(self, offsets):
        found = [row for n in LENGTHS if n <= TRAINED for row in self._at("validation", n, 0)]
        return found + [
            row for n in LENGTHS for offset in offsets for row in self._at("test", n, offset)
        ]

    def _at(self, split, length, offset):
        if self.encoding == "learned" and 2 * length + 2 + offset > 50:
            return [
                record_rows.row(
                    split,
                    length,
                    offset,
                    "exact_match",
                    None,
                    0,
                    f"learned has positions 0..49; length {length} asks for more",
                )
            ]
        exact = self.exact(length) * (
            0.5 if offset and self.encoding in ("learned", "nope") else 1.0
        )
        exact = round(exact * _COUNT) / _COUNT
        nll = -math.log(max(exact, 1e-3)) / (length + 1) + 1e-4
        wrong = self.rng.multinomial(
            _COUNT - round(exact * _COUNT), [1 / (length + 1)] * (length + 1)
        )
        lost = self.odd and split == "test" and length > 16
        return [
            record_rows.row(split, length, offset, "exact_match", exact, _COUNT),
            record_rows.row(
                split, length, offset, "exact_match_without_end", min(1.0, exact + 1 / 64), _COUNT
            ),
            record_rows.row(
                split, length, offset, "token_accuracy", exact ** (1 / (length + 1)), _COUNT
            ),
            record_rows.row(
                split,
                length,
                offset,
                "negative_log_likelihood",
                None if lost else nll,
                _COUNT,
                "the logits of 3 of 512 examples are not finite" if lost else None,
            ),
            record_rows.row(split, length, offset, "first_error", [int(n) for n in wrong], _COUNT),
        ]

    def curve(self):
        points = [
            {"step": 0, "loss": None, "exact_match": {"8": 0.0, "16": 0.0}, "scale_ratio": []}
        ]
        for step in (200, 400, 600, 800):
            grown = {str(n): self.exact(n) * step / 800 for n in (8, 16)}
            points.append(
                {
                    "step": step,
                    "loss": 3.0 * math.exp(-step / 200),
                    "exact_match": grown,
                    "scale_ratio": [],
                }
            )
        return points


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
            "frozen": None,
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


def _exposure(encoding, scheme):
    return {
        "steps": 800,
        "max_length": TRAINED,
        "length_name": "symbols",
        "solved_threshold": 0.99,
        "max_position": None if encoding == "nope" else _MAX_POSITION[scheme],
        "reveals_target_length": scheme == "randomized",
    }
