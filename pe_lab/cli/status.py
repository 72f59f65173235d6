"""Prints the progress of a study: runs that are done, running, failed or left, and the time left.

    pe-lab status quickstart [--retry-failed] [--workers=N]

Another process may be training the study. Each failed run is shown with its error.
--retry-failed trains the failed runs again. Exit status: 0; 1 if one of them failed again;
2 for wrong arguments.
"""

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pe_lab.cli import _studies
from pe_lab.cli._arguments import argument, flag, whole_number
from pe_lab.runs import texts
from pe_lab.sweeps import durations, status


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab status`."""

    study: Path = argument(_studies.HELP, _studies.folder)
    retry_failed: bool = flag("train the failed runs again")
    workers: int | None = flag(
        "processes at a time; default: one per GPU, or one per core", whole_number(1), default=None
    )


def run(options: Options) -> int:
    progress = status.read(options.study)
    print("\n".join(map(texts.printable, lines(progress))))
    if not options.retry_failed or not progress.count("failed"):
        return 0
    from pe_lab.sweeps import sweep  # imports JAX, which printing the progress does not need
    from pe_lab.sweeps.launchers.local import Local

    failed = sweep.retry(options.study, Local(workers=options.workers))
    for run_id, error in failed.items():
        print(f"failed: {run_id}: {error}", file=sys.stderr)
    return 1 if failed else 0


def lines(found: status.Status) -> Iterable[str]:
    """Yield the counts, the running and the failed runs, and the time left."""
    counts = ", ".join(f"{found.count(state)} {state}" for state in status.STATES)
    yield f"{found.name}: {len(found.runs)} runs: {counts}"
    for run in found.runs:
        if run.state in ("running", "failed") or run.about:
            yield f"  {run.state:8} {run.run_id}  {run.label}{': ' if run.about else ''}{run.about}"
    if found.changed_code:
        yield found.changed_code
    if not found.workers:
        line = "no process is training it"
        if found.seconds_left:
            line += f": about {durations.in_words(found.seconds_left)} for one worker"
        yield line
        return
    left = "time left unknown"
    if found.seconds_left is not None:
        left = f"about {durations.in_words(found.seconds_left)} left"
    groups = "group is" if found.workers == 1 else "groups are"
    yield f"{found.workers} {groups} being trained, {left}"
