"""Measurements of untrained models: the scale of logits, and gradient norms by length.

`python -m docs.build --measure=initialization` writes them to docs/pictures/guide. The study
configs/story_gradients.py has the same norms through training:

    from pe_lab.contrib.inspection.trained.gradient_norms import through_training
"""

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from docs.build.guide import untrained_pictures
from pe_lab.contrib.inspection import logit_scale
from pe_lab.contrib.inspection.trained import gradient_norms
from pe_lab.runs import config
from pe_lab.runs.records import records
from pe_lab.runs.settings.settings import Model
from pe_lab.studies import quickstart
from pe_lab.training.build import build_setup
from pe_lab.training.provenance import provenance

RECORD = Path("docs/pictures/guide/initialization.json")
HEAD_WIDTHS = (16, 32, 64, 128, 256, 512)
LENGTHS = (4, 8, 16, 32, 64)
SEEDS = (0, 1, 2)
_ENCODINGS = {  # label -> encoding and position scheme
    "raw_index": ("raw_index", "contiguous"),
    "normalized": ("raw_index", "normalized"),
    "sinusoidal": ("sinusoidal", "contiguous"),
}


def measure(root: Path) -> None:
    """Measure untrained models with the settings of the quickstart; write and draw the record."""
    settings = quickstart.get_config().to_dict()
    run = config.from_dict(settings)
    record = {
        "provenance": provenance(run),
        "logits": logits(run.model, HEAD_WIDTHS, SEEDS),
        "gradients": gradients(settings, LENGTHS, SEEDS),
    }
    records.write_json(root / RECORD, record)
    untrained_pictures.draw(record, (root / RECORD).parent)


class Initial:
    """Lookups in a record, as text: the median over seeds, with the range of all seeds."""

    def __init__(self, file: Path) -> None:
        record = json.loads(file.read_text(encoding="utf-8"))
        self._logits = pd.DataFrame(record["logits"])
        self._gradients = pd.DataFrame(record["gradients"])

    @property
    def seeds(self) -> str:
        """Number of seeds."""
        return str(self._logits["seed"].nunique())

    def scale(self, measure: str, head_width: int, *, scaled: bool) -> str:
        """A measure of LogitScale, with or without the division by √Dh."""
        rows = self._logits
        is_row = (rows["head_width"] == head_width) & (rows["scale_logits"] == scaled)
        return _spread(rows.loc[is_row, measure])

    def gradient(self, encoding: str, length: int) -> str:
        """Norm of the gradient for examples of one length."""
        rows = self._gradients
        is_row = (rows["encoding"] == encoding) & (rows["length"] == length)
        return _spread(rows.loc[is_row, "norm"])


def _spread(values: "pd.Series[float]") -> str:
    """Return the median with the smallest and the largest value, which has two digits."""
    low, high = values.min(), values.max()
    decimals = max(0, 1 - math.floor(math.log10(low)))
    texts = [f"{value:,.{decimals}f}" for value in (values.median(), low, high)]
    return texts[0] if low == high else f"{texts[0]} [{texts[1]}, {texts[2]}]"


def logits(model: Model, head_widths: Sequence[int], seeds: Sequence[int]) -> list[dict[str, Any]]:
    """Return a row for each head width, with and without the scale, and seed.

    All models are as wide as the widest head, so that only the width of a head differs.
    """
    width = max(head_widths)
    wide = dataclasses.replace(model, width=width, feedforward_width=4 * width)
    rows = []
    for head_width in head_widths:
        for scale_logits in (True, False):
            for seed in seeds:
                measured = logit_scale.measure(
                    wide, head_width, scale_logits=scale_logits, seed=seed
                )
                settings = {"head_width": head_width, "scale_logits": scale_logits, "seed": seed}
                rows.append(settings | dataclasses.asdict(measured))
    return rows


def gradients(
    settings: Mapping[str, Any], lengths: Sequence[int], seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Return a row for each encoding, length and seed of a config's untrained model.

    Symbols may repeat, so that lengths have no limit.
    """
    task = {"name": "copy", "num_symbols": 64, "distinct": False}
    rows = []
    for label, (encoding, scheme) in _ENCODINGS.items():
        model = {**settings["model"], "encodings": ({"name": encoding},)}
        changes = {"task": task, "positions": {"name": scheme}, "model": model}
        setup = build_setup(config.from_dict({**settings, **changes}))
        for seed in seeds:
            for norm in gradient_norms.before_training(setup, lengths, seed):
                row = {"encoding": label, "seed": seed, "length": norm.length, "norm": norm.norm}
                rows.append(row)
    return rows
