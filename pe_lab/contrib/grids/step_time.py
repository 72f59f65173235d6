"""The cost of a training step: parameters, memory as the compiler counts it, and time."""

import dataclasses
import functools
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab.runs import grid
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.run import Run, RunGroup
from pe_lab.runs.settings.labels import label
from pe_lab.sweeps import study
from pe_lab.training import step
from pe_lab.training.build import build_setup
from pe_lab.training.costs import num_parameters, step_flops
from pe_lab.training.provenance import provenance
from pe_lab.training.setup import Setup
from pe_lab.training.state import TrainState, abstract_state, initial_state, members_of
from pe_lab.training.step import train_chunk


class Program:
    """The compiled training of a run, or of several seeds of it as one run group."""

    def __init__(self, run: Run, num_members: int = 1):
        self.setup = build_setup(run)
        runs = [dataclasses.replace(run, seed=run.seed + i) for i in range(num_members)]
        members = members_of(RunGroup(tuple(runs)), [0] * num_members)
        self.members = jax.tree.map(jnp.asarray, members)
        started = time.monotonic()
        chunk = functools.partial(train_chunk, self.setup)
        self.data = self.setup.data("train")
        state = abstract_state(self.setup, num_members)
        arguments = (state, self.members, jnp.asarray(1), self.data)
        # Donated as in training: otherwise the program would hold the state twice.
        self.compiled = jax.jit(chunk, donate_argnums=(0,)).lower(*arguments).compile()
        self.compile_seconds = time.monotonic() - started

    def costs(self) -> JsonObject:
        """The costs that are known without running the program."""
        memory: Any = self.compiled.memory_analysis()
        return {
            "parameters": num_parameters(self.setup.abstract_params),
            "state_bytes": memory.argument_size_in_bytes,
            "kept_bytes": _kept_bytes(self.setup),
            "temporary_bytes": memory.temp_size_in_bytes,
            "step_flops": step_flops(self.setup),
            "compile_seconds": self.compile_seconds,
        }

    # Created on first use, because `costs` needs no state. `seconds` replaces the cached value.
    @functools.cached_property
    def state(self) -> TrainState:
        return jax.jit(functools.partial(initial_state, self.setup))(self.members)

    def seconds(self, number: int | None = None) -> float:
        """Seconds of one step from the present state.

        Args:
          number: of the step whose batch is used; None: the next. Two programs with the same
            number get the same lengths.
        """
        state = self.state
        if number is not None:
            state = dataclasses.replace(state, step=jnp.full_like(state.step, number))
        started = time.monotonic()
        # The call donates the old state, so its arrays cannot be read afterwards.
        self.state, losses = self.compiled(state, self.members, jnp.asarray(1), self.data)
        jax.block_until_ready(losses)
        return time.monotonic() - started


def measure(run: Run, num_steps: int) -> JsonObject:
    """Compile the training of one member, and time `num_steps` steps of it.

    Returns:
      parameters; state_bytes (parameters and optimizer moments); kept_bytes (of the forward pass
      for the backward pass, before any compiler); temporary_bytes (without the state, as compiled
      for this device, whose compiler may undo a recomputation); step_flops (unpadded);
      compile_seconds; and None if not timed: seconds_per_step (median), peak_flops_per_second (of a
      product of large float32 matrices next to each step, median), share_of_peak.
    """
    (cost,) = compare([run], num_steps)
    return {name: value for name, value in cost.items() if not name.startswith("times_first")}


def over_nope(
    values: dict[str, object], encodings: tuple[JsonObject, ...], num_steps: int
) -> JsonObject:
    """Measure encodings in turns with nope.

    Args:
      values: of the config whose model is measured.

    Raises:
      UserError: the encodings do not fit into that model.
    """
    points = grid.product({"model.encodings": [(dict(name="nope"),), encodings]})
    nope, run = [entry.run for entry in study.expand("cost", values, points, Path()).entries]
    cost = compare([nope, run], num_steps)[1]
    return {"label": label(encodings), "provenance": provenance(run), **cost}


def compare(runs: Sequence[Run], num_steps: int) -> list[JsonObject]:
    """Measure several runs, each in turns with the first.

    In each turn, two steps of the first run come before the step of a run, so that the second of
    them and this step follow the same work. All three use the batch of the same step number. Two
    programs exist at a time: Linux limits the memory maps of a process, and dozens exceed it.

    Returns:
      For each run the entries of `measure`, and times_first: the median over the turns of its time
      divided by the time of the first run's step just before, with times_first_quartiles. The
      values of the first run show the noise of the machine.
    """
    first = Program(runs[0])
    return [
        _beside(first, first if i == 0 else Program(run), num_steps) for i, run in enumerate(runs)
    ]


def _beside(first: Program, program: Program, num_steps: int) -> JsonObject:
    """Return the entries of one run of `compare`."""
    # [turn, 4]: seconds of the first run twice and of this run, then the machine's peak.
    turns = [
        [*(p.seconds(i) for p in (first, first, program)), peak_flops()]
        for i in range(num_steps + 1 if num_steps else 0)
    ]
    costs = program.costs()
    # Turn 0 warms up. Column 0 is left out: that step only gives the next one its conditions.
    timed = np.array(turns)[1:, 1:] if num_steps else None
    return {**costs, **_times(timed, costs["step_flops"])}


def _times(turns: np.ndarray | None, step_flops: int) -> JsonObject:
    """Return the times from [turns, 3]: seconds of the first run, seconds of this run, and the
    machine's peak, without the warm-up turn. All are None if nothing was timed.
    """
    if turns is None:
        timed = (
            "seconds_per_step",
            "times_first",
            "times_first_quartiles",
            "peak_flops_per_second",
            "share_of_peak",
        )
        return dict.fromkeys(timed)
    first, own, peak = turns.T
    # Ratios within a turn cancel slow changes of the machine's speed.
    low, middle, high = np.quantile(own / first, [0.25, 0.5, 0.75]).tolist()
    return {
        "seconds_per_step": float(np.median(own)),
        "times_first": middle,
        "times_first_quartiles": [low, high],
        "peak_flops_per_second": float(np.median(peak)),
        "share_of_peak": float(np.median(step_flops / own / peak)),
    }


def peak_flops() -> float:
    """FLOPs a second of a product of two square float32 matrices, the best of three."""
    size = 1024
    matrix, seconds = jnp.ones((size, size)), []
    for _ in range(4):  # the first compiles
        started = time.monotonic()
        jax.block_until_ready(_product(matrix, matrix))
        seconds.append(time.monotonic() - started)
    return 2 * size**3 / min(seconds[1:])


_product = jax.jit(jnp.matmul)


def _kept_bytes(setup: Setup) -> int:
    """Bytes that the forward pass of a step keeps for the backward pass, before any compiler."""
    data = setup.data("train")

    def kept(params: object) -> Any:
        batch = step.training_batch(setup, jax.random.key(0), jnp.asarray(0), data)
        return jax.vjp(lambda p: step.batch_loss(setup, p, batch), params)[1]

    # The function that `vjp` returns is a pytree whose leaves are the arrays that it keeps.
    leaves = jax.tree.leaves(jax.eval_shape(kept, setup.abstract_params))
    return int(sum(np.prod(leaf.shape) * leaf.dtype.itemsize for leaf in leaves))
