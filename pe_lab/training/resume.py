"""What a resumed training must share with the training that saved the checkpoint."""

from pathlib import Path

from pe_lab.runs.errors import UserError
from pe_lab.runs.records.evaluation_points import is_done
from pe_lab.runs.records.record_schema import JsonObject, Provenance
from pe_lab.runs.run import Run, RunGroup
from pe_lab.runs.settings.evaluation_settings import plain
from pe_lab.runs.system import jax_settings
from pe_lab.training import provenance, run_records
from pe_lab.training.checkpoint import Notes
from pe_lab.training.setup import Setup


def notes_of(setup: Setup) -> Notes:
    """Return the notes of a checkpoint that `check` compares. The run's id has none of them."""
    return {
        "exact_operands": setup.run.evaluate.exact_operands,
        "evaluated_task": plain(setup.run.evaluated_task),
        "data": setup.data_digest,
    }


def check(notes: Notes, setup: Setup, folder: Path) -> None:
    """Check that a checkpoint in `folder` has a curve of the same operands, and the same text.

    Raises:
      UserError: it has not.
    """
    current = notes_of(setup)
    if notes["evaluated_task"] != current["evaluated_task"]:
        raise UserError(
            f"The checkpoint in {folder} was measured with "
            f"config.evaluate.exact_operands={notes['exact_operands']!r} and this study asks "
            f"for {current['exact_operands']!r}: choose another results folder."
        )
    # Older checkpoints do not have it.
    if "data" in notes and notes["data"] != current["data"]:
        raise UserError(
            f"The text of {setup.run.task.name} has changed since the checkpoint in {folder} was "
            f"saved: restore the text, or choose another results folder."
        )


def check_not_finished(group: RunGroup, folder: Path) -> None:
    """Refuse to train a finished run again for rows that it lacks: they would be of other weights.

    Raises:
      UserError: the group has such a run.
    """
    for run in group.runs:
        record = run_records.finished(folder, run)
        if record is not None and not is_done(run, record):
            raise UserError(
                f"The run {run.run_id} has finished and lacks evaluations of this study, and the "
                f"checkpoint of its parameters is damaged or gone. Give another --results to train "
                f"it again."
            )


def origin(notes: Notes, run: Run, step: int, folder: Path, *, has_ended: bool) -> Provenance:
    """Return the provenance of a training that is resumed from a checkpoint in `folder`.

    It is that of the start. `resumed` has what differs now: the commit, the packages, the device.

    Args:
      has_ended: all steps are trained, and the evaluation is left, whose rows name other code.

    Raises:
      UserError: the code of a plugin or a setting of JAX differs.
    """
    now = provenance.of_start(run)
    start: Provenance | None = notes.get("origin")
    if start is None:  # an older checkpoint: its record names the process that ended the training
        return provenance.provenance(run)
    # Older checkpoints do not have the modules that a plugin imports.
    sources = start["sources"].items()
    changed = [name for name, digest in sources if now["sources"].get(name) != digest]
    if changed and not has_ended:
        raise UserError(
            f"The code of {' and '.join(changed)} has changed since the training in {folder} "
            f"began: restore it, or remove this folder to train from the beginning."
        )
    settings = jax_settings.differing(start.get("jax_settings", {}), now["jax_settings"])
    for name, value in settings.items():
        raise UserError(
            f"The training in {folder} began with {name}={value!r}, and this process has "
            f"{now['jax_settings'][name]!r}: remove this folder to train from the beginning."
        )
    return _continued(start, now, step)


def _continued(start: Provenance, now: Provenance, step: int) -> Provenance:
    """Return the provenance of a start with what differs now from the process before."""
    resumed = list(start.get("resumed", []))
    # What is known of the process before: the start, updated by each later process.
    before: JsonObject = start
    for earlier in resumed:
        before = {**before, **earlier}
    changes = provenance.changes(before, now)
    if not changes:
        return start
    resumed.append({"step": step, "started": now["started"], **changes})
    return {**start, "resumed": resumed}
