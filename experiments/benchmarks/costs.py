"""What several seeds in one program cost, and the evaluation of a run."""

import resource
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from pe_lab.contrib.grids import step_time
from pe_lab.runs.records import evaluation_points
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.run import Run
from pe_lab.training.evaluate import Evaluator


def members(run: Run, counts: Sequence[int], num_steps: int) -> list[JsonObject]:
    """Measure the training of several seeds of a run in one program, in turns with the first count.

    Returns:
      For each count: members, how they run ("map", "vmap"), compile_seconds, seconds_per_step (of
      all of them, median), member_steps_per_second, times_alone (its seconds relative to as many
      members at the rate of the first count, median), share_of_peak, state_bytes, temporary_bytes.
    """
    programs = [step_time.Program(run, count) for count in counts]
    turns = np.array(
        [
            [[programs[0].seconds(i), p.seconds(i), step_time.peak_flops()] for p in programs]
            for i in range(num_steps + 1)
        ]
    )[1:]
    rows: list[JsonObject] = []
    for i, (count, program) in enumerate(zip(counts, programs, strict=True)):
        first, own, peak = turns[:, i].T
        costs = program.costs()
        how = "vmap" if program.setup.devices.vmapped else "map"
        rates = {
            "seconds_per_step": float(np.median(own)),
            "member_steps_per_second": float(np.median(count / own)),
            "times_alone": float(np.median(own / count / (first / counts[0]))),
            "share_of_peak": float(np.median(count * costs["step_flops"] / own / peak)),
        }
        sizes = {
            name: costs[name] for name in ("compile_seconds", "state_bytes", "temporary_bytes")
        }
        rows.append({"members": count, "how": how, **rates, **sizes})
    return rows


def evaluation(run: Run, num_steps: int) -> JsonObject:
    """Measure the time of a run's whole evaluation relative to its training, and the memory.

    Compilation is not part of the time.

    Returns:
      places, examples (in all), compile_seconds, evaluation_seconds, seconds_per_step, share (of
      the time of all steps of its training), peak_bytes (the most that this process has held, JAX
      and the training of one step included).
    """
    program, compiled = step_time.Program(run), 0.0

    def compile_(function: Callable[..., object], *args: object) -> Any:
        nonlocal compiled
        started = time.monotonic()
        program = jax.jit(function).lower(*args).compile()
        compiled += time.monotonic() - started
        return program

    evaluator, places = (
        Evaluator(program.setup, run.evaluate.all_lengths, compile_),
        evaluation_points.grid(run),
    )
    params = program.state.params
    evaluator.rows(params, places[:1])
    started = time.monotonic()
    evaluator.rows(params, places)
    seconds = time.monotonic() - started
    step_seconds = float(np.median([program.seconds(i) for i in range(num_steps + 1)][1:]))
    return {
        "places": len(places),
        "examples": len(places) * run.evaluate.num_examples,
        "compile_seconds": compiled,
        "evaluation_seconds": seconds,
        "seconds_per_step": step_seconds,
        "share": seconds / (run.train.steps * step_seconds),
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
