"""Prints the progress of a study and the time left.

    pe-lab status quickstart [--retry-failed] [--workers=N]

It counts the runs that are done, running, failed or left. Another process may be training the
study. Each failed run is shown with its error.
--retry-failed trains the failed runs again. Exit status: 0; 1 if one of them failed again;
2 for wrong arguments.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _config_files, _studies, _training
from pe_lab.cli._arguments import allow_plugins, argument, flag, whole_number
from pe_lab.runs.system import terminal, texts
from pe_lab.sweeps import status


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab status`."""

    study: Path = argument(_studies.HELP, _config_files.study_folder)
    retry_failed: bool = flag("train the failed runs again")
    workers: int | None = flag(
        "processes at a time; default: one per GPU, or one per core", whole_number(1), default=None
    )
    allow_plugins: Sequence[str] = allow_plugins()


def run(options: Options) -> int:
    progress = status.read(options.study)
    terminal.show("\n".join(map(texts.printable, lines(progress, options.workers))))
    if not options.retry_failed or not progress.count("failed"):
        return 0
    from pe_lab.sweeps import sweep  # imports JAX, which printing the progress does not need
    from pe_lab.sweeps.launchers.local import Local

    failed = sweep.retry(options.study, Local(workers=options.workers))
    return _training.report(failed)


def lines(found: status.Status, workers: int | None = None) -> Iterable[str]:
    """Yield the counts, the running and the failed runs, and the time left.

    Args:
      workers: of the sweep that would train the others; None: as many as by default.
    """
    counts = ", ".join(f"{found.count(state)} {state}" for state in status.STATES)
    yield f"{found.name}: {len(found.runs)} runs: {counts}"
    for run in found.runs:
        if run.state in ("running", "failed") or run.about:
            yield f"  {run.state:8} {run.run_id}  {run.label}{': ' if run.about else ''}{run.about}"
    if found.changed_code:
        yield found.changed_code
    if found.workers:
        left = "time left unknown"
        if found.seconds_left is not None:
            left = f"about {terminal.duration(found.seconds_left)} left"
        groups = "group is" if found.workers == 1 else "groups are"
        yield f"{found.workers} {groups} being trained, {left}"
    elif found.count("left"):
        yield f"no process is training it{_duration(found, workers)}"
    elif found.count("failed"):
        yield "finished, except for the failed runs; --retry-failed trains them again"
    else:
        yield "finished"


def _duration(found: status.Status, workers: int | None) -> str:
    """Return the time of the remaining runs in words."""
    if not found.seconds_left:
        return ""
    from pe_lab.sweeps.launchers import local  # its workers import JAX

    workers = min(workers or local.default_workers(), found.count("left"))
    words = terminal.duration(found.seconds_left / workers)
    return f": about {words} with {workers} worker{'s' * (workers > 1)}"
