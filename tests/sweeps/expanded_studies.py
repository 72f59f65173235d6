"""Studies that are expanded from axes or points."""

from pathlib import Path

from pe_lab.runs import grid
from pe_lab.studies import base
from pe_lab.sweeps import study


def expand(*axes, points=None, overrides=(), **execution):
    values = base.get_config()
    values.evaluate.update(validation_lengths=(8, 16))
    values.evaluate.update(lengths=(8, 16), offsets=(0, 4), num_examples=32, overrides=overrides)
    values.execution.update(execution)
    return study.expand(
        "fake", values.to_dict(), grid.product(*axes) if points is None else points, Path("nowhere")
    )
