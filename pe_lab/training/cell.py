"""A cell from config to records: train its replicas side by side, evaluate, write one record each.

python -m pe_lab.training.cell CELL.json FOLDER      # what a launcher starts; prints events as JSON lines
"""

import functools
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from pe_lab import config, records
from pe_lab.config import Cell, Run
from pe_lab.errors import UserError, one_line
from pe_lab.tasks.base import floors
from pe_lab.training import checkpoints, step
from pe_lab.training.evaluate import Evaluator
from pe_lab.transformer.transformer import Transformer

Report = Callable[[dict[str, Any]], None]
_FLOOR_EXAMPLES = 1000


def run_cell(cell: Cell, folder: Path, report: Report = lambda event: None) -> None:
    """Trains, evaluates and records every run of a cell; goes on from its checkpoint if there is one.

    Args:
      folder: the study's; records and checkpoints go below it.
      report: called with progress.
    """
    training = Training(cell, folder, report)
    training.train()
    training.evaluate()


class Training:
    """The state of a cell's replicas, its programs, its curve and its clock."""

    def __init__(self, cell: Cell, folder: Path, report: Report):
        self.cell, self.folder, self.report = cell, folder, report
        self.checkpoints = folder / "checkpoints" / cell.cell_id
        self.compile_seconds = self.train_seconds = 0.0
        self.steps_here = 0  # trained by this process, for its rate
        self.made = step.setup(cell.run)
        self.evaluator = Evaluator(self.made, self._compiled)
        self.replicas = _stack([run.replica() for run in cell.runs])
        begin = self._compiled(functools.partial(step.init, self.made), self.replicas)
        self.state = begin(self.replicas)
        self.curve: list[list[dict[str, Any]]] = [[] for _ in cell.runs]
        self._restore()

    def _compiled(self, function: Callable, *args: Any, donate: tuple[int, ...] = ()) -> Callable:
        started = time.monotonic()
        program = jax.jit(function, donate_argnums=donate).lower(*args).compile()
        self.compile_seconds += time.monotonic() - started
        return program

    def _restore(self) -> None:
        if found := checkpoints.restore(self.checkpoints, self.state):
            self.state, notes = found
            self.curve, self.train_seconds = notes["curve"], notes["train_seconds"]
            self.report({"event": "resumed", "step": self.now})

    def _save(self) -> None:
        checkpoints.save(self.checkpoints, self.now, self.state, {"curve": self.curve, "train_seconds": self.train_seconds})

    @property
    def now(self) -> int:
        return int(self.state["step"][0])

    def train(self) -> None:
        """Chunk after chunk up to the last step; boundaries depend on the step alone, so a resumed run has the same."""
        run = self.cell.run
        if self.now == 0 and not self.curve[0]:
            self._extend_curve(None)
        if self.now == run.train.steps:
            return
        chunk = self._compiled(functools.partial(step.chunk, self.made), self.state, self.replicas, jnp.asarray(1), donate=(0,))
        saved = time.monotonic()
        while self.now < run.train.steps:
            started, now = time.monotonic(), self.now
            size = self._next_boundary(now) - now
            self.state, losses = chunk(self.state, self.replicas, jnp.asarray(size))
            loss = np.asarray(losses)[:, :size].mean(axis=1)
            seconds = time.monotonic() - started
            self.train_seconds += seconds
            self.steps_here += size
            self._report_progress(loss, size / seconds)
            if self.now % run.evaluate.curve_every == 0 or self.now == run.train.steps:
                self._extend_curve(loss)
            if self.now == run.train.steps or time.monotonic() - saved >= run.checkpoints.interval:
                self._save()
                saved = time.monotonic()

    def _next_boundary(self, now: int) -> int:
        run = self.cell.run
        every = (run.execution.chunk_steps, run.evaluate.curve_every)
        return min(run.train.steps, *((now // k + 1) * k for k in every))

    def _report_progress(self, loss: np.ndarray, rate: float) -> None:
        alive = loss[np.isfinite(loss)]
        shown = float(alive.mean()) if alive.size else None
        self.report({"event": "progress", "step": self.now, "loss": shown, "steps_per_second": rate * len(self.cell.runs)})

    def _extend_curve(self, loss: np.ndarray | None) -> None:
        """One point a replica: loss of the last chunk, validation exact match, rms(code) / rms(token)."""
        evaluate = self.cell.run.evaluate
        points: list[dict[str, Any]] = [
            {"step": self.now, "loss": None if loss is None else _finite(loss[r]), "exact_match": {}, "code_ratio": []}
            for r in range(len(self.cell.runs))
        ]
        for length in evaluate.curve_lengths:
            if step.out_of_reach(self.made, length, 0):
                continue
            measured = self.evaluator.measure(self.state, "validation", length, 0, evaluate.curve_examples)
            for point, sums in zip(points, measured, strict=True):
                point["exact_match"][str(length)] = int(sums["exact_match"]) / evaluate.curve_examples
                point["code_ratio"] = [_finite(r) for r in sums["code_ratio"]]
        for curve, point in zip(self.curve, points, strict=True):
            curve.append(point)

    def evaluate(self) -> None:
        """Measures the final state and writes a record for every run; what a record had beyond it stays."""
        self.report({"event": "evaluating"})
        rows = self.evaluator.rows(self.state)
        measured = floors(self.made.task, self.cell.run.evaluate.lengths, _FLOOR_EXAMPLES)
        for r, run in enumerate(self.cell.runs):
            records.write(self.folder, self._with_older_rows(self._record(r, run, rows[r], measured)))
        if not self.cell.run.checkpoints.keep_final:
            checkpoints.remove(self.checkpoints)
        self.report({"event": "finished"})

    def _with_older_rows(self, record: dict[str, Any]) -> dict[str, Any]:
        """An evaluation adds to a record: rows and floors of other lengths and offsets stay."""
        path = records.path_of(self.folder, record["run_id"])
        older = records.read(path) if path.exists() else {"rows": [], "floors": []}
        here = {(r["split"], r["length"], r["offset"]) for r in record["rows"]}
        lengths = {f["length"] for f in record["floors"]}
        rows = [r for r in older["rows"] if (r["split"], r["length"], r["offset"]) not in here]
        return record | {
            "rows": rows + record["rows"],
            "floors": [f for f in older["floors"] if f["length"] not in lengths] + record["floors"],
        }

    def _record(self, r: int, run: Run, rows: list[dict[str, Any]], floors: list[dict[str, Any]]) -> dict[str, Any]:
        diverged_at = int(self.state["diverged_at"][r])
        error = None if diverged_at < 0 else f"the loss or its gradient was not finite at step {diverged_at}"
        kept = run.checkpoints.keep_final
        return blank_record(run) | {
            "status": "finished" if error is None else "diverged",
            "error": error,
            "rows": [] if error else rows,
            "floors": floors,
            "curve": self.curve[r],
            "cost": self._cost(run),
            "exposure": self._exposure(),
            "code_ratio": {"initial": self.curve[r][0]["code_ratio"], "final": self.curve[r][-1]["code_ratio"]},
            "checkpoint": {"cell": self.cell.cell_id, "step": self.now, "replica": r} if kept else None,
        }

    def _cost(self, run: Run) -> dict[str, Any]:
        """Of one replica: its share of the cell's seconds, and what its unpadded examples ask for."""
        replicas = len(self.cell.runs)
        return {
            "train_seconds": self.train_seconds / replicas,
            "compile_seconds": self.compile_seconds / replicas,
            "steps_per_second": run.train.steps * replicas / self.train_seconds if self.train_seconds else None,
            "train_flops": self.made.train_flops,
            "parameters": sum(p[0].size for p in jax.tree.leaves(self.state["params"])),
            "replicas": replicas,
        }

    def _exposure(self) -> dict[str, Any]:
        """What training showed: the longest example, the largest position, whether positions tell the target's length."""
        made, longest = self.made, self.cell.run.train.max_length
        reads = any(e.reads_positions for e in made.encodings)
        return {
            "max_length": longest,
            "length_name": made.task.length_name,
            "max_position": made.scheme.bound(made.num_tokens(longest)) if reads else None,
            "target_length_known": made.layout.knows_target_length or (reads and made.scheme.reads_length),
            "learnt_threshold": made.task.threshold,
        }


def trained_model(folder: Path, run_id: str) -> Transformer:
    """The model of a run of a sweep with its final parameters, to be called or taken apart.

    Args:
      folder: the study's.

    Raises:
      UserError: the run has no checkpoint, or it is damaged.
    """
    place = records.read(records.path_of(folder, run_id))["checkpoint"]
    if place is None:
        raise UserError(f"The run {run_id} kept no final parameters: it failed, or config.checkpoints.keep_final is False.")
    training = Training(read_cell(folder / "cells" / f"{place['cell']}.json"), folder, lambda event: None)
    if training.now != place["step"]:
        raise UserError(f"The checkpoint of {run_id} is gone: {training.checkpoints} does not hold step {place['step']}.")
    return training.made.model(jax.tree.map(lambda leaf: leaf[place["replica"]], training.state["params"]))


def read_cell(file: Path) -> Cell:
    """A cell from the file that a sweep wrote."""
    return Cell(tuple(config.from_dict(values) for values in json.loads(file.read_text(encoding="utf-8"))["runs"]))


def blank_record(run: Run) -> dict[str, Any]:
    """A record with nothing measured, status "failed"."""
    empty: dict[str, Any] = dict.fromkeys(("error", "cost", "exposure", "code_ratio", "checkpoint"))
    return empty | {
        "run_id": run.run_id,
        "config": run.to_dict(),
        "replica": run.replica(),
        "status": "failed",
        "rows": [],
        "floors": [],
        "curve": [],
        "provenance": provenance(run),
    }


def record_failure(run: Run, folder: Path, error: str) -> None:
    """Records that a run failed, unless it has a result already."""
    path = records.path_of(folder, run.run_id)
    if not path.exists() or records.read(path)["status"] == "failed":
        records.write(folder, blank_record(run) | {"error": error})


@functools.cache
def _versions() -> dict[str, str]:
    return {name: metadata.version(name) for name in ("jax", "jaxlib", "flax", "optax", "numpy")}


def provenance(run: Run) -> dict[str, Any]:
    """What numbers depend on beside the config: code, versions, device, and how replicas ran."""
    device = jax.devices()[0]
    return {
        "commit": _git("rev-parse", "HEAD"),
        "dirty": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "python": platform.python_version(),
        "versions": _versions(),
        "device": f"{device.platform}: {device.device_kind}",
        "execution": run.to_dict()["execution"],
        "sources": run.sources(),
    }


@functools.cache
def _git(*args: str) -> str | None:
    """What git says of the code; None outside of a repository."""
    here = Path(__file__).parent
    answer = subprocess.run(["git", *args], cwd=here, capture_output=True, text=True, check=False)
    return answer.stdout.strip() if answer.returncode == 0 else None


def _stack(replicas: list[dict[str, Any]]) -> step.Replicas:
    types = {"seed": np.int32, "data_seed": np.int32, "learning_rate": np.float32, "weight_decay": np.float32}
    return {k: jnp.asarray(np.array([r[k] for r in replicas], t)) for k, t in types.items()}


def _finite(number: Any) -> float | None:
    return float(number) if np.isfinite(number) else None


def main(cell_file: Path, folder: Path) -> int:
    """Runs a cell in a process of its own: events on stdout, exit status 1 if it failed."""

    def report(event: dict[str, Any]) -> None:
        print(json.dumps(event), flush=True)

    cell = read_cell(cell_file)
    try:
        run_cell(cell, folder, report)
    except BrokenPipeError:  # the sweep that started it is gone: the next one goes on from the checkpoint
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to flush into the closed pipe
        return 1
    except Exception as e:  # whatever it is, it is recorded and the other cells go on
        if not isinstance(e, UserError):
            traceback.print_exc()
        error = one_line(e) if isinstance(e, UserError) else f"{type(e).__name__}: {one_line(e)}"
        for run in cell.runs:
            record_failure(run, folder, error)
        report({"event": "failed", "error": error})
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
