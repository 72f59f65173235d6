"""How fast tasks draw: a batch of 128 examples at length 40, on one core.

python -m experiments.benchmarks.throughput NAME ...    # started by `table`; prints JSON lines
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.runs import plugins
from pe_lab.runs.errors import one_line
from pe_lab.tasks.base import Task

BATCH, LENGTH = 128, 40
GOAL = 2.0  # milliseconds, for examples that are drawn inside jit without data
FIGURES = ("length", "unit", "milliseconds", "best_milliseconds", "compile_milliseconds", "goal")
_CALLS, _SECONDS = 50, 1.0  # timed calls of a task: as many, or as long


def table(names: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Measures tasks with their defaults, in a process that has one core.

    Returns:
      For each task, as soon as it is measured: task; length (the nearest to 40 that it has) and its
      unit; milliseconds of a batch (median), best_milliseconds and compile_milliseconds; goal, None
      where examples come from data made beforehand; error, why there are no figures; cores, 1
      wherever the system can bind a process.
    """
    command = [sys.executable, "-m", "experiments.benchmarks.throughput", *names]
    with subprocess.Popen(
        command, cwd=Path(__file__).parents[2], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield from map(json.loads, process.stdout)
    if process.returncode:
        raise RuntimeError(f"measuring the tasks ended with status {process.returncode}")


def measure(name: str) -> dict[str, Any]:
    """The figures of one task, whatever is wrong with it."""
    try:
        return {
            "task": name,
            **_figures(plugins.build("tasks", plugins.resolve("tasks", {"name": name}))),
            "error": None,
        }
    except Exception as e:  # a UserError where it has arguments without a default
        return {"task": name, **dict.fromkeys(FIGURES), "error": one_line(e)}


def _figures(task: Task) -> dict[str, Any]:
    length = max(task.min_length, min(LENGTH, task.max_length or LENGTH))
    data = jax.tree.map(jnp.asarray, task.data("train"))

    def draw(keys: jax.Array, traced: jax.Array, data: Any) -> Any:
        return jax.vmap(lambda key: task.sample(key, traced, length, data))(keys)

    keys = jax.random.split(jax.random.key(0), (_CALLS, BATCH))
    started = time.monotonic()
    program = jax.jit(draw).lower(keys[0], jnp.asarray(length), data).compile()
    compiled = time.monotonic() - started
    seconds = _seconds(program, keys, jnp.asarray(length), data)
    times = [float(np.median(seconds)), min(seconds), compiled]
    return dict(
        zip(
            FIGURES,
            (length, task.length_name, *(1e3 * t for t in times), GOAL if data is None else None),
            strict=True,
        )
    )


def _seconds(program: Any, keys: jax.Array, *arguments: Any) -> list[float]:
    """Of each call, with other keys every time; the first one warms up and is left out."""
    seconds: list[float] = []
    for each in map(jax.block_until_ready, keys):
        started = time.perf_counter()
        jax.block_until_ready(program(each, *arguments))
        seconds.append(time.perf_counter() - started)
        if sum(seconds) > _SECONDS and len(seconds) > 3:
            break
    return seconds[1:]


def main(names: Sequence[str]) -> None:
    if hasattr(
        os, "sched_setaffinity"
    ):  # before anything is computed: threads started later have the same core
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    for name in names:
        print(json.dumps({**measure(name), "cores": cores}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
