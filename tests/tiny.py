"""The smallest run that does everything: for tests of training, sweeps and entry points."""

from typing import Any

from configs import base
from pe_lab import config


def values(**changes: Any) -> dict[str, Any]:
    """Config values of a tiny run; keys are dotted paths with __ for the dot."""
    c = base.get_config()
    c.task = dict(name="copy", num_symbols=6)
    c.model.update(width=16, num_layers=2, num_heads=2, feedforward_width=16)
    c.train.update(steps=12, batch_size=8, max_length=3, warmup_steps=2)
    c.evaluate.update(lengths=(2, 3, 5), num_examples=16, batch_size=8, curve_every=6, curve_lengths=(3,), curve_examples=8)
    c.execution.chunk_steps = 4
    plain = c.to_dict()
    for path, value in changes.items():
        *parents, last = path.split("__")
        inner = plain
        for key in parents:
            inner = inner[key]
        inner[last] = value
    return plain


def run(*encodings: str | dict[str, Any], **changes: Any) -> config.Run:
    """A tiny run with these encodings, sinusoidal by default."""
    specs = tuple({"name": e} if isinstance(e, str) else e for e in encodings) or ({"name": "sinusoidal"},)
    return config.from_dict(values(model__encodings=specs, **changes))


def cell(*encodings: str | dict[str, Any], seeds: int = 2, **changes: Any) -> config.Cell:
    return config.Cell(tuple(run(*encodings, seed=s, **changes) for s in range(seeds)))
