"""What training a config costs: parameters, memory as the compiler counts it, the time of a step.

    python -m experiments.benchmark --config=configs/gpt2.py [--config.train.batch_size=2]
                                    [--steps=3] [--out=FILE.json]

Of the config alone, without its sweep. --steps=0 only compiles. --out adds the figures to a JSON list, with
the overrides that they are for, the device and the load of the machine.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line
from pe_lab import config, records
from pe_lab.errors import UserError, one_line
from pe_lab.training import benchmark
from pe_lab.training.cell import provenance

_STEPS = flags.DEFINE_integer("steps", 3, "steps that are timed", lower_bound=0)
_OUT = flags.DEFINE_string("out", None, "a JSON file to add the figures to")


def main(file: command_line.StudyFile) -> int:
    run = config.from_dict(file.values)
    older = _older(Path(_OUT.value)) if _OUT.value else []
    load = os.getloadavg()[0]
    found = benchmark.measure(run, _STEPS.value or 0)
    for name, value in found.items():
        print(f"{name:18} {value if isinstance(value, int) or value is None else round(value, 4)}")
    if _OUT.value:
        overrides = [a.lstrip("-") for a in sys.argv[1:] if a.lstrip("-").startswith("config.")]
        about = {"study": file.name, "overrides": overrides, "load_before": load, "provenance": provenance(run)}
        records.write_json(Path(_OUT.value), [*older, {**about, **found}])
    return 0


def _older(out: Path) -> list[dict[str, Any]]:
    """The figures that a file holds already; refused before anything is measured."""
    try:
        found = json.loads(out.read_text(encoding="utf-8")) if out.exists() else []
    except (OSError, ValueError) as e:
        raise UserError(f"--out={out} cannot be read ({one_line(e)}).") from e
    if not isinstance(found, list):
        raise UserError(f"--out={out} holds no list of figures.")
    return found


if __name__ == "__main__":
    command_line.run_with_config(main)
