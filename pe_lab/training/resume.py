"""What a resumed training must share with the training that saved the checkpoint."""

from pathlib import Path

from pe_lab.runs.errors import UserError
from pe_lab.runs.evaluation_settings import plain
from pe_lab.runs.record_schema import Provenance
from pe_lab.runs.run import Run
from pe_lab.training.checkpoint import Notes
from pe_lab.training.provenance import provenance
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


def origin(notes: Notes, run: Run) -> Provenance:
    """Return the provenance of the start of a training that is resumed."""
    # Older checkpoints do not have it. Their records name the process that ended the training.
    started: Provenance = notes.get("origin") or provenance(run)
    return started
