"""Measures CPU time and memory of commands that read or plan a large study.

    python -m experiments.benchmarks.large_study [--records=20000] [--points=100000] [--out=FILE]

The study has copies of the quickstart's records, each with its own run id and digest: four learning
rates, of which validation chooses one, and six seeds. The plan is a dry run of another study, in
which four encodings train at 25 learning rates. Each command runs as a user starts it. --out writes
the figures as JSON.
"""

import copy
import itertools
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab import cli
from pe_lab.cli._arguments import flag, whole_number
from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies import study_files
from pe_lab.training.provenance import commit, has_uncommitted_code

SOURCE = Path("results/published/quickstart")
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
SEEDS = 6
_READ = "import sys; from pe_lab.results import frame; frame.read(sys.argv[1])"
COMMANDS = ("read", "tables", "report", "status", "plan")
_CONFIG = """
from pe_lab.runs import grid
from pe_lab.studies import base

def get_config():
    return base.get_config()

def sweep():
    encodings = [(dict(name=name),) for name in ("rope", "alibi", "t5_bias", "shaw")]
    rates = [1e-4 * number for number in range(1, 26)]
    seeds = range({points} // 100)
    axes = {{"train.learning_rate": rates, "seed": seeds}}
    return grid.product({{"model.encodings": encodings}}, axes)
"""


def write(folder: Path, count: int) -> int:
    """Write a study of about this many records, and return their number."""
    published = records.read_all(SOURCE)
    entries = study_files.read(SOURCE).entries
    of_variant: dict[tuple[str, ...], list[object]] = {}
    for labels, run_id in entries:
        key = tuple(text for axis, text in labels.items() if axis != "seed")
        of_variant.setdefault(key, []).append((labels, published[run_id]))
    points = _points(of_variant, count)
    study_entries = []
    for number, (labels, record) in enumerate(points):
        run_id = f"{number:016x}"
        records.write(folder, {**record, "run_id": run_id})
        study_entries.append((labels, run_id))
    analysis = {"tuned": ["train.learning_rate"], "contrasts": [["rope", "alibi"]]}
    study_files.write(folder, "large_study", study_entries, analysis)
    return len(study_entries)


def _points(of_variant: dict[tuple[str, ...], list[Any]], count: int) -> Iterator[Any]:
    """Yield labels and record of each run."""
    size = len(of_variant) * len(RATES) * SEEDS
    for index in range(max(1, round(count / size))):
        for variant, rate, seed in itertools.product(of_variant.values(), RATES, range(SEEDS)):
            labels, record = variant[seed % len(variant)]
            copied = copy.deepcopy(dict(record))
            copied["config"]["train"]["learning_rate"] = rate
            copied["member"] |= {"seed": seed, "data_seed": seed}
            copied["config"] |= {"seed": seed, "data_seed": seed}
            rate_label = {"train.learning_rate": str(rate), "seed": str(seed)}
            # An axis that changes no run, so its labels need not agree with the config.
            yield {**labels, "evaluate.num_examples": str(index), **rate_label}, copied


def write_config(folder: Path, points: int) -> None:
    """Write the config of a study of about this many points into its folder."""
    config = folder / "planned.py"
    config.write_text(_CONFIG.format(points=points), encoding="utf-8")


def arguments(command: str, folder: Path) -> list[str]:
    """Return the arguments of Python that run one of COMMANDS on a folder's study or config."""
    if command == "read":
        return ["-c", _READ, str(folder)]
    if command == "plan":
        results = f"--results={folder / 'planned'}"
        return ["-m", "pe_lab", "sweep", str(folder / "planned.py"), "--dry-run", results]
    return ["-m", "pe_lab", command, str(folder)]


def measure(folder: Path, commands: Sequence[str] = COMMANDS) -> list[JsonObject]:
    """Return the CPU seconds and the peak memory of each command.

    Raises:
      RuntimeError: a command failed.
    """
    figures: list[JsonObject] = []
    for command in commands:
        line = [sys.executable, *arguments(command, folder)]
        process = subprocess.Popen(line, stdout=subprocess.DEVNULL)
        _, wait_status, usage = os.wait4(process.pid, 0)  # the usage of this process alone
        process.returncode = os.waitstatus_to_exitcode(wait_status)
        if process.returncode:
            raise RuntimeError(f"{command} ended with exit status {process.returncode}.")
        seconds, megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
        figures.append({"command": command, "cpu_seconds": seconds, "peak_megabytes": megabytes})
    return figures


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.benchmarks.large_study`."""

    records: int = flag("records of the study", whole_number(1), default=20_000)
    points: int = flag("points of the plan", whole_number(100), default=100_000)
    out: Path | None = flag("file of the figures", Path, default=None)


def run(options: Options) -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        count = write(folder, options.records)
        write_config(folder, options.points)
        load = os.getloadavg()[0]
        figures = measure(folder)
    for figure in figures:
        seconds, megabytes = figure["cpu_seconds"], figure["peak_megabytes"]
        print(f"{figure['command']:8} {seconds:6.1f} s of CPU {megabytes:6.0f} MB")
    if options.out:
        origin = {"commit": commit(), "dirty": has_uncommitted_code()}
        origin["python"] = sys.version.split()[0]
        sizes = {"records": count, "points": options.points, "load_before": load}
        records.write_json(options.out, {**sizes, "provenance": origin, "figures": figures})
    return 0


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.benchmarks.large_study")
