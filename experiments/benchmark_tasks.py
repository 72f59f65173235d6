"""Measures how fast every task draws examples with its default arguments.

    python -m experiments.benchmark_tasks [--out=FILE.json]

The figures are milliseconds for a batch of 128 examples at length 40 on one core. --out adds
them to a JSON list.
"""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from experiments.benchmarks import figures
from pe_lab import cli
from pe_lab.cli._arguments import flag
from pe_lab.runs import config
from pe_lab.runs.errors import one_line
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.studies import base
from pe_lab.sweeps.launchers.local import available_cores
from pe_lab.tasks.base import Task
from pe_lab.training.provenance import provenance

BATCH, LENGTH = 128, 40
GOAL = 2.0  # milliseconds, for examples that are drawn inside jit without data
FIGURES = ("length", "unit", "milliseconds", "best_milliseconds", "compile_milliseconds", "goal")
_CALLS, _SECONDS = 50, 1.0  # timed calls of a task: as many, or as long


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.benchmark_tasks`."""

    out: Path | None = flag("a JSON file to add the figures to", Path, default=None)


def run(options: Options) -> int:
    older = figures.older(options.out) if options.out else []
    # Before JAX computes anything: threads that start later have the same core.
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(available_cores())})
    about = {
        "load_before": os.getloadavg()[0],
        "provenance": provenance(config.from_dict(base.get_config().to_dict())),
        "cores": len(available_cores()),
    }
    print(f"{'task':28}{'length':>18}{'ms':>9}{'best':>9}{'goal':>6}")
    rows = []
    for name in plugins.names("tasks"):
        row = measure(name)
        rows.append({**about, **row})
        print(f"{name:28}{_line(row)}", flush=True)
    if options.out:
        records.write_json(options.out, [*older, *rows])
    return 0


def _line(row: JsonObject) -> str:
    if row["error"]:
        return f" {row['error']}"
    length, goal = f"{row['length']} {row['unit']}", row["goal"]
    verdict = "–"
    if goal is not None:
        verdict = f"{goal:g}" if row["milliseconds"] <= goal else f"over {goal:g}"
    return f"{length:>18}{row['milliseconds']:>9.3f}{row['best_milliseconds']:>9.3f}{verdict:>7}"


def measure(name: str) -> JsonObject:
    """Return the figures of a task with its defaults.

    They are the length, the nearest to 40 that it has, and its unit; milliseconds of a batch
    (median), best_milliseconds and compile_milliseconds; goal, None where examples come from data
    made beforehand; error, why there are no figures.
    """
    try:
        task = plugins.build("tasks", plugins.resolve("tasks", {"name": name}))
        return {"task": name, **_figures(task), "error": None}
    except Exception as e:  # a UserError where it has arguments without a default
        return {"task": name, **dict.fromkeys(FIGURES), "error": one_line(e)}


def _figures(task: Task) -> JsonObject:
    length = max(task.min_length, min(LENGTH, task.max_length or LENGTH))
    data = jax.tree.map(jnp.asarray, task.data("train"))

    def draw(keys: jax.Array, traced: jax.Array, data: object) -> object:
        return jax.vmap(lambda key: task.sample(key, traced, length, data))(keys)

    keys = jax.random.split(jax.random.key(0), (_CALLS, BATCH))
    started = time.monotonic()
    program = jax.jit(draw).lower(keys[0], jnp.asarray(length), data).compile()
    compile_seconds = time.monotonic() - started
    seconds = _seconds(program, keys, jnp.asarray(length), data)
    return {
        "length": length,
        "unit": task.length_name,
        "milliseconds": 1e3 * float(np.median(seconds)),
        "best_milliseconds": 1e3 * min(seconds),
        "compile_milliseconds": 1e3 * compile_seconds,
        "goal": GOAL if data is None else None,
    }


def _seconds(
    program: Callable[..., object], keys: jax.Array, *arguments: object
) -> Sequence[float]:
    """Of each call, with other keys every time; the first one warms up and is left out."""
    seconds: list[float] = []
    for key in map(jax.block_until_ready, keys):
        started = time.perf_counter()
        jax.block_until_ready(program(key, *arguments))
        seconds.append(time.perf_counter() - started)
        if sum(seconds) > _SECONDS and len(seconds) > 3:
            break
    return seconds[1:]


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.benchmark_tasks")
