"""The loop of a run group: train its members side by side, follow their curves, evaluate."""

import dataclasses
import functools
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import jax
import numpy as np
from jax.stages import Compiled
from jaxtyping import PyTree

from pe_lab.runs.records import record_rows, records
from pe_lab.runs.records.evaluation_points import grid, missing
from pe_lab.runs.records.record_schema import Record
from pe_lab.runs.run import RunGroup
from pe_lab.runs.system import jax_settings
from pe_lab.training import checkpoint, curve, devices, provenance, resume, run_records
from pe_lab.training.build import build_setup
from pe_lab.training.evaluate import Evaluator
from pe_lab.training.parents import parent_of, start, steps_kept
from pe_lab.training.reports import Report
from pe_lab.training.run_records import Cost
from pe_lab.training.state import (
    CurveState,
    TrainState,
    abstract_state,
    initial_state,
    members_of,
    of_member,
)
from pe_lab.training.step import train_chunk
from pe_lab.training.trained_runs import TrainedRun


class Preempted(Exception):  # noqa: N818
    """A training saved its state and ended early, as requested."""


def train_run_group(
    group: RunGroup,
    folder: Path,
    report: Report = lambda event: None,
    should_leave: Callable[[], bool] = lambda: False,
) -> None:
    """Train, evaluate and record every run of a group, from its checkpoint if there is one.

    Args:
      folder: the study's; records and checkpoints are written inside.
      report: receives progress.
      should_leave: called after each chunk; True saves the state and ends the training.

    Raises:
      Preempted: `should_leave` returned True.
    """
    training = Training(group, folder, report)
    training.train(should_leave)
    training.evaluate()


class Training:
    """The members of a run group, their programs, curves and clock.

    Attributes:
      curves: of each member, one point for each evaluation during training.
      losses: since the last point of the curves.
      cost: seconds and memory of the whole group.
      origin: the provenance of its start.
      steps_kept: steps of the runs that the members continue.
    """

    def __init__(self, group: RunGroup, folder: Path, report: Report):
        self.group, self.folder, self.report = group, folder, report
        self.checkpoints = folder / "checkpoints" / group.group_id
        self.cost = Cost()
        devices.check(group.run.execution.batch_devices)
        self.setup = build_setup(group.run)
        self.origin = provenance.of_start(group.run)
        lengths = group.run.evaluate.all_lengths
        self.evaluator = Evaluator(self.setup, lengths, self._compiled)
        parents = [parent_of(run, folder) for run in group.runs]
        self.parents = [None if parent is None else parent.record for parent in parents]
        self.steps_kept = steps_kept(group.runs, parents)
        self.members = self._placed(members_of(group, self._first_steps()))
        self.curves: list[curve.Curve] = [[] for _ in group.runs]
        self.losses = curve.MeanLoss.of_no_steps(len(group.runs))
        # Last: both read all of the above. The parameters of parents are not kept.
        self.state = self._restored() or self._started(parents)

    def _first_steps(self) -> list[int]:
        """The steps that the parent of each member has trained, without those that are kept."""
        steps = []
        for parent in self.parents:
            exposure = None if parent is None else parent["exposure"]
            steps.append(0 if exposure is None else exposure["steps"] - self.steps_kept)
        return steps

    def _placed(self, tree: PyTree) -> PyTree:
        return self.setup.devices.placed(tree)

    def _compiled(self, function: Callable, *args: PyTree) -> Compiled:
        """Compile a function for arguments of these shapes."""
        with self.cost.compilation():
            return jax.jit(function).lower(*args).compile()

    # Start and resume

    def _started(self, parents: Sequence[TrainedRun | None]) -> TrainState:
        """The first state, with what members take from parents where they have one."""
        init = functools.partial(initial_state, self.setup)
        program = self._compiled(init, self.members)
        state: TrainState = program(self.members)
        for index, parent in enumerate(parents):
            if parent is None:
                continue
            taken = start(parent, self.setup, self.group.runs[index], of_member(state, index))
            fields = {name: getattr(state, name) for name in taken}
            fields = jax.tree.map(lambda leaf, new, i=index: leaf.at[i].set(new), fields, taken)
            state = dataclasses.replace(state, **fields)
        if self.steps_kept:  # the time left must not count them as work of this run
            self.report({"event": "resumed", "step": self.steps_kept})
        return self._placed(state)

    def _restored(self) -> TrainState | None:
        """The state of the newest checkpoint; None if there is none."""
        # The lock of the group is held, so no other process saves here.
        checkpoint.remove_unfinished(self.checkpoints)
        like = abstract_state(self.setup, len(self.group.runs))
        restored = checkpoint.restore(
            self.checkpoints,
            self.setup.devices.abstractly_placed(like),
            lambda damage: self.report({"event": "damaged", "why": damage}),
        )
        if restored is None:
            resume.check_not_finished(self.group, self.folder)
            return None
        state, notes = restored
        assert notes is not None
        resume.check(notes, self.setup, self.checkpoints)
        self.curves = notes["curve"]
        if "losses" in notes:  # older checkpoints do not have them
            self.losses = curve.MeanLoss(**notes["losses"])
        step = int(np.asarray(state.step)[0])
        has_ended = step >= _last_step(state)
        self.origin = resume.origin(
            notes, self.group.run, step, self.checkpoints, has_ended=has_ended
        )
        self.cost.train_seconds = notes["train_seconds"]
        self.cost.compile_seconds += notes.get("compile_seconds", 0.0)  # older ones lack it
        self.cost.memory = notes["memory"]
        self.report({"event": "resumed", "step": step})
        return state

    def _save(self) -> None:
        notes = {
            "curve": self.curves,
            "losses": self.losses.notes(),
            "train_seconds": self.cost.train_seconds,
            "compile_seconds": self.cost.compile_seconds,
            "memory": self.cost.memory,
            "origin": self.origin,
            **resume.notes_of(self.setup),
        }
        checkpoint.save(self.checkpoints, self.step, self.state, notes)

    # Training

    @property
    def step(self) -> int:
        """Steps done."""
        # All members share one clock.
        return int(np.asarray(self.state.step)[0])

    @property
    def last_step(self) -> int:
        """The step at which every member has stopped. Diverged members are not waited for."""
        return _last_step(self.state)

    def train(self, should_leave: Callable[[], bool] = lambda: False) -> None:
        """Train chunk by chunk up to the last step.

        Chunks end at steps that depend on the config alone, so a resumed run has the same.
        """
        if not self.curves[0]:
            self._extend_curve()
        if self.step >= self.last_step:
            return
        data = self.setup.data("train")
        train = functools.partial(train_chunk, self.setup)
        # The number of steps is traced, so that one program trains chunks of any length.
        arguments = (self.state, self.members, np.int32(1), data)
        # A donated state is overwritten by the new one: memory need not hold both.
        with self.cost.compilation():
            program = jax.jit(train, donate_argnums=(0,)).lower(*arguments).compile()
        self.cost.memory = run_records.memory_of(program, data)
        # Monotonic: a clock that is set back must not delay a checkpoint.
        saved_at = time.monotonic()
        while self.step < self.last_step:
            self._train_chunk(program, data)
            if self._is_curve_step():
                self._extend_curve()
                stop_at = curve.stops(self.curves, self.state, self.setup)
                # The compiled program accepts arrays with this placement only.
                self.state = dataclasses.replace(self.state, stop_at=self._placed(stop_at))
            leaves = should_leave() and self.step < self.last_step
            is_due = time.monotonic() - saved_at >= self.group.run.checkpoints.interval
            # The last step is saved too: evaluation may be interrupted.
            if leaves or is_due or self.step >= self.last_step:
                self._save()
                saved_at = time.monotonic()
            if leaves:
                raise Preempted

    def _train_chunk(self, program: Callable, data: PyTree) -> None:
        """Train up to the next boundary."""
        started = time.monotonic()
        first = self.step
        num_steps = self._next_boundary(first) - first
        self.state, losses = program(self.state, self.members, np.int32(num_steps), data)
        losses = np.asarray(losses)[:, :num_steps]  # it also waits until the chunk has ended
        self.losses.add(losses, first, curve.ends(self.state))
        seconds = time.monotonic() - started
        self.cost.train_seconds += seconds
        self._report_progress(num_steps / seconds)

    def _next_boundary(self, step: int) -> int:
        run = self.group.run
        intervals = (run.execution.chunk_steps, run.evaluate.curve_every)
        boundaries = [(step // interval + 1) * interval for interval in intervals]
        return min(self.last_step, *boundaries)

    def _is_curve_step(self) -> bool:
        is_last = self.step >= self.last_step
        # The last point is always there: records report its scales as the final ones.
        return is_last or self.step % self.group.run.evaluate.curve_every == 0

    def _report_progress(self, rate: float) -> None:
        loss = self.losses.value()
        finite = loss[np.isfinite(loss)]
        event = {
            "event": "progress",
            "step": self.step,
            "loss": float(finite.mean()) if finite.size else None,
            "losses": [curve.finite(value) for value in loss],  # of each member
            "steps_per_second": rate * len(self.group.runs),
        }
        self.report(event)

    def _extend_curve(self) -> None:
        curve.extend(self.curves, self.evaluator, self.state, self.losses.value())
        self.losses = curve.MeanLoss.of_no_steps(len(self.group.runs))
        if self.group.run.checkpoints.keep_curve:
            checkpoint.save_point(self.checkpoints, self.step, CurveState.of(self.state))

    # Evaluation

    def evaluate(self) -> None:
        """Measure the final state, and add the missing rows to the record of every run."""
        self.report({"event": "evaluating"})
        jax_settings.check()  # the code of a plugin has run since the start
        # Runs that finished under a smaller grid have rows already. Those rows stay.
        previous = self._finished()
        measured = [record_rows.measured_points(record) if record else {} for record in previous]
        points = missing(self.group.run, grid(self.group.run), measured)
        rows = self.evaluator.rows(self.state.params, points)
        lengths = [point.length for point in points if point.split == "test"]
        chance_levels = self.evaluator.chance_levels(lengths)
        now = provenance.of_start(self.group.run)
        # They are read again, because another process may have added rows in the meantime.
        for index, finished in enumerate(self._finished()):
            record = finished or self._record(index)
            # The parameters of a diverged run mean nothing.
            new_rows = rows[index] if record["status"] == "finished" else []
            extended = record_rows.extended(record, new_rows, chance_levels)
            if finished and extended["rows"] != finished["rows"]:
                origin = provenance.with_process(finished["provenance"], now)
                extended = {**extended, "provenance": origin}
            records.write(self.folder, extended)
        # After the records: a kill before they are written repeats the evaluation alone.
        if self.group.run.checkpoints.keep_final:
            checkpoint.keep_last(self.checkpoints)
        else:
            checkpoint.remove(self.checkpoints)
        self.report({"event": "finished"})

    def _finished(self) -> list[Record | None]:
        return [run_records.finished(self.folder, run) for run in self.group.runs]

    def _record(self, index: int) -> Record:
        """The record of a run without rows."""
        return run_records.trained(
            self.setup,
            self.group,
            index,
            self.state,
            self.curves[index],
            self.cost,
            origin=self.origin,
            parent=self.parents[index],
            steps_kept=self.steps_kept,
        )


def _last_step(state: TrainState) -> int:
    step = int(np.asarray(state.step)[0])
    running = np.asarray(state.stop_at)[np.asarray(state.diverged_at) < 0]
    return max([step, *running.tolist()])  # the present step if all members have diverged
