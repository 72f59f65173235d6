"""Records of runs: trained and failed."""

import contextlib
import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path

import jax
import numpy as np
from jax.stages import Compiled
from jaxtyping import PyTree

from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import (
    CheckpointOfRun,
    CostOfRun,
    Provenance,
    Record,
)
from pe_lab.runs.run import Run, RunGroup
from pe_lab.training import costs, exposure
from pe_lab.training.curve import Curve, ends
from pe_lab.training.provenance import provenance
from pe_lab.training.setup import Setup
from pe_lab.training.state import TrainState


@dataclasses.dataclass
class Cost:
    """The cost of a run group so far.

    Attributes:
      memory: bytes of state and of temporary values, as the compiler counts them.
    """

    compile_seconds: float = 0.0
    train_seconds: float = 0.0
    memory: dict[str, int] | None = None

    @contextlib.contextmanager
    def compilation(self) -> Iterator[None]:
        """Count the seconds of the block as compilation, which is no part of the training."""
        started = time.monotonic()
        yield
        self.compile_seconds += time.monotonic() - started


def memory_of(program: Compiled, data: PyTree) -> dict[str, int] | None:
    """Bytes that a compiled chunk of training needs; None where the compiler does not count.

    Args:
      data: the argument of the program that is no state of the group, such as a text.
    """
    memory = program.memory_analysis()
    if memory is None:
        return None
    return {
        "state_bytes": memory.argument_size_in_bytes - sum(x.nbytes for x in jax.tree.leaves(data)),
        "temporary_bytes": memory.temp_size_in_bytes,
    }


def trained(
    setup: Setup,
    group: RunGroup,
    index: int,
    state: TrainState,
    curve: Curve,
    cost: Cost,
    *,
    origin: Provenance,
    parent: Record | None,
    steps_kept: int,
) -> Record:
    """The record of a member that has ended its training, without rows.

    Args:
      index: of the member.
      origin: the provenance of the training.
      parent: the record of the run from which it started.
      steps_kept: steps of the runs that the members continue.
    """
    run = group.runs[index]
    diverged_at = int(np.asarray(state.diverged_at)[index])
    step = int(np.asarray(state.step)[0])
    # The shared clock may run past the end of this member.
    steps = min(step, int(ends(state)[index])) - steps_kept
    error: str | None = None
    checkpoint: CheckpointOfRun | None = None
    if diverged_at >= 0:
        error = f"the loss or its gradient was not finite at step {diverged_at}"
    if run.checkpoints.keep_final:
        checkpoint = {"run_group": group.group_id, "step": step, "member": index}
    return {
        **blank(run),
        "provenance": {
            **origin,
            "data": setup.data_digest,
            "corpus": setup.task.corpus,
        },
        "status": "finished" if error is None else "diverged",
        "error": error,
        "curve": curve,
        "cost": _cost(setup, state, cost, steps, steps_kept),
        "exposure": exposure.recorded(setup, steps, parent),
        "scale_ratio": {"initial": curve[0]["scale_ratio"], "final": curve[-1]["scale_ratio"]},
        "checkpoint": checkpoint,
    }


def _cost(setup: Setup, state: TrainState, cost: Cost, steps: int, steps_kept: int) -> CostOfRun:
    """The cost of one member: its share of the group's seconds; memory is the group's."""
    num_members = len(state.step)
    all_steps = (int(np.asarray(state.step)[0]) - steps_kept) * num_members
    seconds = cost.train_seconds
    # The mean is over the first steps of a training, so those that are kept are subtracted.
    last = steps_kept + steps
    flops = costs.step_flops(setup, last) * last - costs.step_flops(setup, steps_kept) * steps_kept
    return {
        "steps": steps,
        # Members train side by side, so only the group has a time.
        "train_seconds": seconds / num_members,
        "compile_seconds": cost.compile_seconds / num_members,
        "steps_per_second": all_steps / seconds if seconds else None,
        "train_flops": flops,
        # Leaves have a member axis, which counts each parameter once for each member.
        "parameters": costs.num_parameters(state.params) // num_members,
        "members": num_members,
        "memory": cost.memory,
    }


def blank(run: Run) -> Record:
    """A record with nothing measured, status "failed"."""
    # Readers find every key in every record, with null where nothing is known.
    return {
        "schema_version": records.SCHEMA_VERSION,
        "digest": "",  # `records.write` computes it
        "run_id": run.run_id,
        "config": run.to_dict(),
        "member": run.member_settings(),
        "status": "failed",
        "error": None,
        "rows": [],
        "chance_levels": [],
        "curve": [],
        "cost": None,
        "exposure": None,
        "scale_ratio": None,
        "checkpoint": None,
        "provenance": provenance(run),
    }


def finished(folder: Path, run: Run) -> Record | None:
    """The record of a run that has finished before; None without one."""
    path = records.path_of(folder, run.run_id)
    if not path.exists():
        return None
    record = records.read(path)
    return record if record["status"] == "finished" else None


def write_failure(run: Run, folder: Path, error: str) -> None:
    """Record that a run failed, unless it has a result already."""
    path = records.path_of(folder, run.run_id)
    if not path.exists() or records.read(path)["status"] == "failed":
        records.write(folder, {**blank(run), "error": error})
