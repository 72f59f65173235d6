"""What the commands that train have in common."""

from pathlib import Path
from typing import TYPE_CHECKING

from pe_lab.cli import tables
from pe_lab.cli._config_files import StudyConfig
from pe_lab.runs.system import terminal

if TYPE_CHECKING:
    from pe_lab.sweeps.stages import Mode

WORKERS = "run groups at a time; default: one per GPU, or one per core; on Slurm no limit"
DRY_RUN = "print the runs, run groups and estimated time, and train nothing"
WRITE_GROUPS = "print the command of each run group, for another scheduler, and train nothing"


def train(
    study: StudyConfig,
    results: Path | None,
    *,
    workers: int | None = None,
    dry_run: bool = False,
    write_groups: bool = False,
) -> int:
    """Train the missing runs of a study, write its tables and return the exit status."""
    from pe_lab.sweeps import stages  # imports JAX

    mode = stages.Mode(workers, dry_run, write_groups)
    folder = results or Path("results") / study.name
    request = stages.StudyRequest(study.name, study.values, study.points, folder, study.analysis)
    failed = stages.train(request, mode)
    if failed is None:
        return 0
    tables.show(folder)
    show_later_notes(mode)
    return report(failed)


def show_later_notes(mode: "Mode") -> None:
    """Print the first note on the design that follows the tables."""
    for note in mode.later[:1]:
        terminal.show(f"\n{note}")


def report(failed: dict[str, str]) -> int:
    """Print the failed runs and return the exit status."""
    for run_id, error in failed.items():
        terminal.show(f"failed: {run_id}: {error}", is_error=True)
    return 1 if failed else 0
