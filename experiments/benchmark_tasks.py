"""Measures how fast every task draws examples with its default arguments.

    python -m experiments.benchmark_tasks [--out=FILE.json]

The figures are milliseconds for a batch of 128 examples at length 40 on one core. --out adds
them to a JSON list.
"""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.benchmarks import figures, throughput
from pe_lab import cli
from pe_lab.cli._arguments import flag
from pe_lab.runs import config, plugins, records
from pe_lab.studies import base
from pe_lab.training.run_records import provenance


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.benchmark_tasks`."""

    out: Path | None = flag("a JSON file to add the figures to", Path, default=None)


def run(options: Options) -> int:
    older = figures.older(options.out) if options.out else []
    about = {
        "load_before": os.getloadavg()[0],
        "provenance": provenance(config.from_dict(base.get_config().to_dict())),
    }
    print(f"{'task':28}{'length':>18}{'ms':>9}{'best':>9}{'goal':>6}")
    rows = []
    for row in throughput.table(plugins.names("tasks")):
        rows.append(row)
        print(f"{row['task']:28}{_line(row)}", flush=True)
    if options.out:
        records.write_json(options.out, [*older, *({**about, **row} for row in rows)])
    return 0


def _line(row: dict[str, Any]) -> str:
    if row["error"]:
        return f" {row['error']}"
    length, goal = f"{row['length']} {row['unit']}", row["goal"]
    verdict = "–"
    if goal is not None:
        verdict = f"{goal:g}" if row["milliseconds"] <= goal else f"over {goal:g}"
    return f"{length:>18}{row['milliseconds']:>9.3f}{row['best_milliseconds']:>9.3f}{verdict:>7}"


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.benchmark_tasks")
