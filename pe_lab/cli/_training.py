"""What the commands that train have in common."""

import sys
from pathlib import Path

from pe_lab.cli import tables
from pe_lab.cli._config_files import StudyConfig

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
    return report(failed)


def report(failed: dict[str, str]) -> int:
    """Print the failed runs and return the exit status."""
    for run_id, error in failed.items():
        print(f"failed: {run_id}: {error}", file=sys.stderr)
    return 1 if failed else 0
