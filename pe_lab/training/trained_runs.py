"""Finished runs: their records, parameters and models."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import jax
import optax
from jaxtyping import PyTree

from pe_lab.model.transformer import Transformer
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.records.record_schema import CheckpointOfRun, Record
from pe_lab.runs.run import RunGroup
from pe_lab.runs.system import files, jax_settings
from pe_lab.training import checkpoint, devices
from pe_lab.training.build import build_setup
from pe_lab.training.setup import Setup
from pe_lab.training.state import CurveState, TrainState, abstract_state, of_member


@dataclasses.dataclass(frozen=True)
class TrainedRun:
    """A run with its record and its final parameters.

    Attributes:
      optimizer: moments and counters of its last step.
      step: at which its training ended, with the steps of the run that it continues.
    """

    setup: Setup
    record: Record
    params: PyTree
    optimizer: optax.OptState = ()
    step: int = 0

    @property
    def model(self) -> Transformer:
        """The run's model with its final parameters."""
        return self.setup.model(self.params)


def load(folder: Path, run_id: str) -> TrainedRun:
    """A run of the study in `folder` with its final parameters.

    Raises:
      UserError: there is no such run, it did not finish, or its checkpoint is gone or damaged.
    """
    record = records.read_run(folder, run_id)
    if record is None:
        raise UserError(f"There is no run {run_id} in {folder}.")
    state, group = load_state(folder, record)
    index = checkpoint_of(folder, record)["member"]
    setup = build_setup(group.runs[index])
    member = of_member(state, index)
    # A member that stopped early has trained fewer steps than the clock of its group shows.
    step = min(int(member.step), int(member.stop_at))
    return TrainedRun(setup, record, member.params, member.optimizer, step)


def load_state(folder: Path, record: Record) -> tuple[TrainState, RunGroup]:
    """The final state of all members of a run's group, and the group."""
    devices.compute_float32_products()  # what is computed with it has the precision of training
    group, checkpoints, abstract = _checkpoints_of(folder, record)
    saved_as = checkpoint_of(folder, record)
    index, step = saved_as["member"], saved_as["step"]
    restored = checkpoint.restore(checkpoints, abstract)
    if restored is None or int(restored[0].step[index]) != step:
        raise UserError(
            f"The checkpoint of {record['run_id']} is gone: {checkpoints} does not hold step "
            f"{step}."
        )
    return restored[0], group


def params_through_training(folder: Path, record: Record) -> Iterator[tuple[int, PyTree]]:
    """Steps trained and parameters at every point of a run's curve that was kept.

    A member that stopped before the others of its group has its last parameters at all points from
    there on. They come once, with the steps that it trained. Points are read lazily.

    Raises:
      UserError: as for `load`, or a point is damaged.
    """
    _, checkpoints, abstract = _checkpoints_of(folder, record)
    index = checkpoint_of(folder, record)["member"]
    like_point = jax.eval_shape(CurveState.of, abstract)
    last_steps = None
    for point in checkpoint.points(checkpoints, like_point):
        steps = int(point.step[index])
        if steps != last_steps:
            yield steps, of_member(point.params, index)
        last_steps = steps


def checkpoint_of(folder: Path, record: Record) -> CheckpointOfRun:
    """The place of a run's final parameters among the checkpoints of the study in `folder`.

    Raises:
      UserError: the run did not finish, kept no parameters, or was trained with other settings of
        JAX.
    """
    run_id, saved_as = record["run_id"], record["checkpoint"]
    _check_settings(record)
    if record["status"] != "finished":
        raise UserError(f"The run {run_id} in {folder} has not finished, it {record['status']}.")
    if saved_as is None:
        raise UserError(
            f"The run {run_id} kept no final parameters: config.checkpoints.keep_final was False."
        )
    return saved_as


def _check_settings(record: Record) -> None:
    """Refuse a run whose numbers are of other settings of JAX than those of this process."""
    # Older records do not have them: they are taken as the standard.
    trained = record["provenance"].get("jax_settings") or {}
    for name, value in jax_settings.differing(trained, jax_settings.current()).items():
        raise UserError(
            f"The run {record['run_id']} was trained with {name}={value!r}, and this process has "
            f"{jax_settings.current()[name]!r}: train it again."
        )


def _checkpoints_of(folder: Path, record: Record) -> tuple[RunGroup, Path, TrainState]:
    """The group of a run, the folder of its checkpoints, and its state without values."""
    run_id, saved_as = record["run_id"], checkpoint_of(folder, record)
    file = run_group_files.path_of(folder, files.plain_name(saved_as["run_group"], "a run group"))
    if not file.exists():  # a published study has records alone
        raise UserError(f"The checkpoint of {run_id} is gone: {file} is missing.")
    group = run_group_files.read(file)
    state = abstract_state(build_setup(group.run), len(group.runs))
    return group, folder / "checkpoints" / saved_as["run_group"], state
