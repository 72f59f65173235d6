"""A cell from config to records: train its replicas side by side, evaluate, write one record each.

python -m pe_lab.training.cell CELL.json FOLDER  # started by a launcher; prints events as JSON
"""

import contextlib
import functools
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

import jax
import numpy as np

from pe_lab.runs import locks, records
from pe_lab.runs.errors import UserError, one_line
from pe_lab.runs.run import Cell, Run, plain
from pe_lab.tasks.base import floors
from pe_lab.training import checkpoints, devices, step
from pe_lab.training.evaluate import Evaluator, Place, grid, is_done
from pe_lab.training.finished import adopt, parent_of, point_of, read_cell, replicas_of, shapes_of

Report = Callable[[dict[str, Any]], None]
FLOOR_EXAMPLES = 1000
_PROGRESS_INTERVAL = 2.0  # seconds between two notes of progress
_HERE = Path(__file__).parent
_CODE = (":/pe_lab", ":/configs", ":/experiments")  # what "dirty" is about


class Left(Exception):  # noqa: N818
    """A training was asked to leave, and has saved what it has."""


def run_cell(
    cell: Cell,
    folder: Path,
    report: Report = lambda event: None,
    leave: Callable[[], bool] = lambda: False,
) -> None:
    """Trains, evaluates and records every run of a cell; goes on from its checkpoint if there is
    one.

    Args:
      folder: the study's; records and checkpoints go below it.
      report: called with progress.
      leave: whether to save and leave, asked after each chunk.

    Raises:
      Left: it was told to.
    """
    training = Training(cell, folder, report)
    training.train(leave)
    training.evaluate()


class Training:
    """The state of a cell's replicas, its programs, its curve and its clock."""

    def __init__(self, cell: Cell, folder: Path, report: Report):
        self.cell, self.folder, self.report = cell, folder, report
        self.checkpoints = folder / "checkpoints" / cell.cell_id
        self.compile_seconds = self.train_seconds = 0.0
        devices.check(cell.run.execution.batch_devices)
        self.made = step.setup(cell.run)
        evaluate = cell.run.evaluate
        self.evaluator = Evaluator(self.made, evaluate.all_lengths, self._compiled)
        self.parents = [parent_of(run, folder) for run in cell.runs]
        before = [
            0 if parent is None else parent.record["exposure"]["steps"] for parent in self.parents
        ]
        self.replicas = self._placed(replicas_of(cell, before))
        self.curve: list[list[dict[str, Any]]] = [[] for _ in cell.runs]
        self.memory: dict[str, int] | None = None
        self.state = self._restored() or self._begun()

    def _placed(self, tree: Any) -> Any:
        return devices.placed(tree, self.made.batch_devices)

    def _compiled(self, function: Callable, *args: Any, donate: tuple[int, ...] = ()) -> Any:
        started = time.monotonic()
        program = jax.jit(function, donate_argnums=donate).lower(*args).compile()
        self.compile_seconds += time.monotonic() - started
        return program

    def _begun(self) -> step.State:
        """The first state: a fresh start, or another run's parameters in its place."""
        state = self._compiled(functools.partial(step.init, self.made), self.replicas)(
            self.replicas
        )
        for r, parent in enumerate(self.parents):
            if parent is not None:
                fresh = jax.tree.map(lambda leaf, r=r: leaf[r], state["params"])
                start = adopt(parent.params, parent.made, self.made, fresh)
                state["params"] = jax.tree.map(
                    lambda leaf, new, r=r: leaf.at[r].set(new), state["params"], start
                )
        return self._placed(state)

    def _restored(self) -> step.State | None:
        checkpoints.remove_unfinished(self.checkpoints)
        shapes = devices.abstractly_placed(
            shapes_of(self.made, len(self.cell.runs)), self.made.batch_devices
        )
        found = checkpoints.restore(
            self.checkpoints,
            shapes,
            lambda damage: self.report({"event": "damaged", "why": damage}),
        )
        if found is None:
            return None
        state, notes = found
        self._check_curve(notes)
        self.curve, self.train_seconds, self.memory = (
            notes["curve"],
            notes["train_seconds"],
            notes["memory"],
        )
        self.report({"event": "resumed", "step": int(np.asarray(state["step"])[0])})
        return state

    def _check_curve(self, notes: dict[str, Any]) -> None:
        """Refuse a checkpoint whose curve rests on operands of other lengths than this run's."""
        run = self.cell.run
        measured = notes["exact_operands"]
        if notes["evaluated_task"] != plain(run.evaluated_task):
            raise UserError(
                f"The checkpoint in {self.checkpoints} was measured with "
                f"config.evaluate.exact_operands={measured!r} "
                f"and this study asks for {run.evaluate.exact_operands!r}: choose another results "
                f"folder."
            )

    def _save(self) -> None:
        notes = {"curve": self.curve, "train_seconds": self.train_seconds, "memory": self.memory}
        notes["exact_operands"] = self.cell.run.evaluate.exact_operands
        notes["evaluated_task"] = plain(self.cell.run.evaluated_task)
        checkpoints.save(self.checkpoints, self.now, self.state, notes)

    @property
    def now(self) -> int:
        return int(np.asarray(self.state["step"])[0])

    @property
    def last(self) -> int:
        """The step at which every replica has stopped."""
        return int(np.asarray(self.state["stop_at"]).max())

    def train(self, leave: Callable[[], bool] = lambda: False) -> None:
        """Chunk after chunk up to the last step; boundaries depend on the step alone, so a resumed
        run has the same.
        """
        run = self.cell.run
        if self.now == 0 and not self.curve[0]:
            self._extend_curve(None)
        if self.now >= self.last:
            return
        data = self.made.data("train")
        chunk = self._compiled(
            functools.partial(step.chunk, self.made),
            self.state,
            self.replicas,
            np.int32(1),
            data,
            donate=(0,),
        )
        self.memory = _memory(chunk)
        saved = time.monotonic()
        while self.now < self.last:
            started, now = time.monotonic(), self.now
            size = self._next_boundary(now) - now
            self.state, losses = chunk(self.state, self.replicas, np.int32(size), data)
            loss = self._mean_while_training(np.asarray(losses)[:, :size], now)
            seconds = time.monotonic() - started
            self.train_seconds += seconds
            self._report_progress(loss, size / seconds)
            if self.now % run.evaluate.curve_every == 0 or self.now >= self.last:
                self._extend_curve(loss)
                self._stop_where_learnt()
            leaves = leave() and self.now < self.last
            if (
                leaves
                or self.now >= self.last
                or time.monotonic() - saved >= run.checkpoints.interval
            ):
                self._save()
                saved = time.monotonic()
            if leaves:
                raise Left

    def _mean_while_training(self, losses: np.ndarray, first: int) -> np.ndarray:
        """Of each replica's steps from `first` on; NaN for one that has stopped before."""
        trained = (
            first + np.arange(losses.shape[1])[None] < np.array(self.state["stop_at"])[:, None]
        )
        with np.errstate(invalid="ignore"):
            return losses.sum(axis=1, where=trained) / trained.sum(axis=1)

    def _stop_where_learnt(self) -> None:
        """A replica that meets the criterion trains on for the extra steps only."""
        train, stop_at = self.cell.run.train, np.array(self.state["stop_at"])
        if train.criterion is None:
            return
        for r, curve in enumerate(self.curve):
            reached = [v for n, v in curve[-1]["exact_match"].items() if int(n) <= train.max_length]
            if (
                curve[-1]["step"] == self.now
                and stop_at[r] == train.steps
                and records.learnt(reached, train.criterion)
            ):
                stop_at[r] = min(self.now + train.extra_steps, train.steps)
        self.state = {**self.state, "stop_at": self._placed(stop_at)}

    def _next_boundary(self, now: int) -> int:
        run = self.cell.run
        every = (run.execution.chunk_steps, run.evaluate.curve_every)
        return min(self.last, *((now // k + 1) * k for k in every))

    def _report_progress(self, loss: np.ndarray, rate: float) -> None:
        alive = loss[np.isfinite(loss)]
        shown = float(alive.mean()) if alive.size else None
        self.report(
            {
                "event": "progress",
                "step": self.now,
                "loss": shown,
                "steps_per_second": rate * len(self.cell.runs),
            }
        )

    def _extend_curve(self, loss: np.ndarray | None) -> None:
        """One point a replica: loss of the last chunk, validation exact match, rms(code) /
        rms(token).
        """
        evaluate = self.cell.run.evaluate
        points: list[dict[str, Any]] = [
            {
                "step": self.now,
                "loss": None if loss is None else _finite(loss[r]),
                "exact_match": {},
                "code_ratio": [],
            }
            for r in range(len(self.cell.runs))
        ]
        for length in evaluate.curve_lengths:
            if step.out_of_reach(self.made, length, 0):
                continue
            measured = self.evaluator.measure(
                self.state["params"], Place("validation", length, 0), evaluate.curve_examples
            )
            for point, sums in zip(points, measured, strict=True):
                point["exact_match"][str(length)] = (
                    int(sums["exact_match"]) / evaluate.curve_examples
                )
                point["code_ratio"] = [_finite(r) for r in sums["code_ratio"]]
        for curve, point, stop_at in zip(
            self.curve, points, np.array(self.state["stop_at"]), strict=True
        ):
            if (
                not curve or curve[-1]["step"] < stop_at
            ):  # a replica that has stopped does not move any more
                curve.append({**point, "step": min(point["step"], int(stop_at))})
        if self.cell.run.checkpoints.keep_curve:
            checkpoints.save_point(self.checkpoints, self.now, point_of(self.state))

    def evaluate(self) -> None:
        """Measures the final state and writes a record for every run; what a record had already
        stays as it is.
        """
        self.report({"event": "evaluating"})
        older = [self._older(run) for run in self.cell.runs]
        known = [records.places(record) if record else {} for record in older]
        places = [p for p in grid(self.cell.run) if not all(p.key in k for k in known)]
        lengths = sorted({p.length for p in places if p.split == "test"})
        rows = self.evaluator.rows(self.state["params"], places)
        measured = (
            floors(self.made.evaluated_task, lengths, FLOOR_EXAMPLES, self.evaluator.data("test"))
            if lengths
            else []
        )
        for r, run in enumerate(self.cell.runs):
            record = older[r] or self._record(r, run)
            new = [row for row in rows[r] if records.place_of(row) not in known[r]]
            records.write(
                self.folder,
                records.extended(record, new if record["status"] == "finished" else [], measured),
            )
        finish = (
            checkpoints.keep_last if self.cell.run.checkpoints.keep_final else checkpoints.remove
        )
        finish(self.checkpoints)
        self.report({"event": "finished"})

    def _older(self, run: Run) -> dict[str, Any] | None:
        """The record of a run that has finished before: an evaluation adds to it."""
        path = records.path_of(self.folder, run.run_id)
        found = records.read(path) if path.exists() else None
        return found if found and found["status"] == "finished" else None

    def _record(self, r: int, run: Run) -> dict[str, Any]:
        """A record without rows."""
        diverged_at = int(np.asarray(self.state["diverged_at"])[r])
        error = (
            None
            if diverged_at < 0
            else f"the loss or its gradient was not finite at step {diverged_at}"
        )
        kept = run.checkpoints.keep_final
        blank = blank_record(run)
        return blank | {
            "provenance": blank["provenance"]
            | {"data": self.made.data_digest, "frozen": self._frozen()},
            "status": "finished" if error is None else "diverged",
            "error": error,
            "curve": self.curve[r],
            "cost": self._cost(r),
            "exposure": self._exposure(r),
            "code_ratio": {
                "initial": self.curve[r][0]["code_ratio"],
                "final": self.curve[r][-1]["code_ratio"],
            },
            "checkpoint": {"cell": self.cell.cell_id, "step": self.now, "replica": r}
            if kept
            else None,
        }

    def _frozen(self) -> list[str] | None:
        """sha256 of the frozen sets that were read; None where examples were drawn."""
        return None if self.evaluator.frozen is None else sorted(self.evaluator.frozen.used)

    def _steps(self, r: int) -> int:
        """Steps that a replica has trained."""
        return min(self.now, int(np.asarray(self.state["stop_at"])[r]))

    def _cost(self, r: int) -> dict[str, Any]:
        """Of one replica: its share of the cell's seconds, and what its unpadded examples ask for;
        memory of the cell.
        """
        replicas = len(self.cell.runs)
        return {
            "steps": self._steps(r),
            "train_seconds": self.train_seconds / replicas,
            "compile_seconds": self.compile_seconds / replicas,
            "steps_per_second": self.now * replicas / self.train_seconds
            if self.train_seconds
            else None,
            "train_flops": self.made.step_flops * self._steps(r),
            "parameters": sum(p.size for p in jax.tree.leaves(self.state["params"])) // replicas,
            "replicas": replicas,
            "memory": self.memory,
        }

    def _exposure(self, r: int) -> dict[str, Any]:
        """What training showed, of the run that it started from too: the longest example, the
        largest position, all steps.
        """
        made, longest = self.made, self.cell.run.train.max_length
        shown = [largest for _, _, largest in made.readers(longest, train=True)]
        before = {} if self.parents[r] is None else self.parents[r].record["exposure"]  # type: ignore[union-attr]
        positions = [p for p in (*shown, before.get("max_position")) if p is not None]
        return {
            "steps": self._steps(r) + before.get("steps", 0),
            "max_length": max(longest, before.get("max_length", 0)),
            "length_name": made.task.length_name,
            "max_position": max(positions, default=None),
            "target_length_known": made.knows_target_length,
            "learnt_threshold": made.task.threshold,
        }


def _memory(program: Any) -> dict[str, int] | None:
    """Bytes that a compiled chunk of training needs, as its compiler counts them; None where it
    does not.
    """
    found = program.memory_analysis()
    if found is None:
        return None
    return {
        "state_bytes": found.argument_size_in_bytes,
        "temporary_bytes": found.temp_size_in_bytes,
    }


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
        "dirty": has_uncommitted_code(),
        "python": platform.python_version(),
        "versions": _versions(),
        "device": f"{device.platform}: {device.device_kind}",
        "execution": run.to_dict()["execution"],
        "sources": run.sources(),
    }


def has_uncommitted_code(checkout: Path = _HERE) -> bool:
    """Whether pe_lab, configs or experiments differ from the commit, or hold untracked files."""
    return bool(_git("status", "--porcelain", "--", *_CODE, checkout=checkout))


@functools.cache
def _git(*args: str, checkout: Path = _HERE) -> str | None:
    """The output of a git command in a checkout; None outside of a repository."""
    answer = subprocess.run(
        ["git", *args], cwd=checkout, capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() if answer.returncode == 0 else None


def _finite(number: Any) -> float | None:
    return float(number) if np.isfinite(number) else None


def main(cell_file: Path, folder: Path, leave: Callable[[], bool] = lambda: False) -> int:
    """Runs a cell in a process of its own: events on stdout, the last of them in folder/progress
    too.

    Args:
      leave: whether to save and leave.

    Returns:
      The exit status: 0, 1 if it failed, locks.LATER if another process is at it or it has left.
    """
    with locks.held(cell_file.with_suffix(".lock")) as mine:
        return _main(cell_file, folder, leave) if mine else locks.LATER


def _main(cell_file: Path, folder: Path, leave: Callable[[], bool]) -> int:
    cell, report = read_cell(cell_file), _reporter(folder / "progress" / cell_file.name)
    try:
        found = {
            run.run_id: records.read(path)
            for run in cell.runs
            if (path := records.path_of(folder, run.run_id)).exists()
        }
        if not all(
            is_done(run, found) for run in cell.runs
        ):  # as another sweep has left them meanwhile
            run_cell(cell, folder, report, leave)
    except Left:
        return locks.LATER
    except (
        BrokenPipeError
    ):  # the sweep that started it is gone: the next one goes on from the checkpoint
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # nothing is left to flush into the closed pipe
        return 1
    except Exception as e:  # whatever it is, it is recorded and the other cells go on
        if not isinstance(e, UserError):
            traceback.print_exc()
        error = one_line(e) if isinstance(e, UserError) else f"{type(e).__name__}: {one_line(e)}"
        report({"event": "failed", "error": error})
        for run in cell.runs:
            record_failure(run, folder, error)
        return 1
    return 0


def _reporter(file: Path) -> Report:
    """Prints each event as a line, and keeps in a file, for who did not start this process, where
    training is.
    """
    kept: dict[str, Any] = {}
    written = 0.0

    def report(event: dict[str, Any]) -> None:
        nonlocal written
        print(json.dumps(event), flush=True)
        kept.update(event)
        if event["event"] != "progress" or time.monotonic() - written >= _PROGRESS_INTERVAL:
            with contextlib.suppress(OSError):  # a full disk is told of by what must be written
                records.write_json(file, kept | {"time": time.time()})
            written = time.monotonic()

    return report


def asked_to_leave() -> Callable[[], bool]:
    """Whether SIGTERM or SIGINT has come; a second one ends the process at once."""
    asked = threading.Event()

    def handle(number: int, frame: Any) -> None:
        asked.set()
        signal.signal(number, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, handle)
    return asked.is_set


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2]), asked_to_leave()))
