"""Measures the cost of training a config: parameters, memory, time of a step.

    python -m experiments.benchmark --config=configs/gpt2.py [--config.train.batch_size=2]
        [--steps=3] [--out=FILE.json] [--compare [--only=rope,t5_bias]] [--profile]
        [--members=1,9] [--evaluation] [--peer] [--workers=2]

By default the config is measured without its sweep. --compare measures every program of the sweep,
which runs that differ in seed or learning rate share: each in turns with the first, relative to it.
--only selects some of them. --steps=0 only compiles.
--profile reports the time of a step by the function of pe_lab that causes it. --members trains
several seeds in one program. --evaluation times the whole evaluation and compares it with training.
--peer compares the same model in x-transformers, in float32 and in half precision if torch has it
(.venv/bin/pip install torch x-transformers). --workers=2 runs two processes at once, each on a core
with one thread, as a sweep does, and reports their joint throughput.

--out adds the figures to a JSON list, with the overrides, the device and the load of the machine.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from experiments.benchmarks import costs, figures, peer, profile
from pe_lab import cli
from pe_lab.cli import _config_files
from pe_lab.cli._arguments import (
    argument,
    flag,
    overrides,
    separated,
    whole_number,
    whole_numbers,
)
from pe_lab.cli._config_files import StudyConfig
from pe_lab.contrib.grids import step_time
from pe_lab.runs import config
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.records import records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.run import Run
from pe_lab.runs.studies.analysis_spec import SEED_AXES
from pe_lab.sweeps.launchers import local
from pe_lab.training.provenance import provenance


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.benchmark`."""

    config: str = argument(_config_files.HELP)
    overrides: Sequence[str] = overrides()
    steps: int = flag("steps that are timed", whole_number(0), default=3)
    compare: bool = flag("measure the runs of the sweep in turns")
    only: Sequence[str] = flag(
        "with --compare: the runs whose labels begin with one of these", separated, default=()
    )
    profile: bool = flag("report the time of a step by function, instead of its cost")
    members: Sequence[int] = flag(
        "numbers of seeds that are trained in one program, as in 1,9", whole_numbers(1), default=()
    )
    evaluation: bool = flag("time the evaluation and compare it with training")
    peer: bool = flag("compare the same model in x-transformers")
    workers: int = flag(
        "parallel processes, each on one core with one thread", whole_number(1), default=1
    )
    out: Path | None = flag("a JSON file to add the figures to", Path, default=None)


def run(options: Options) -> int:
    _check_flags(options)
    older = figures.older(options.out) if options.out else []
    if options.workers > 1:
        if options.profile or not options.steps:
            raise UserError("--workers needs steps to time, so neither --profile nor --steps=0.")
        return _in_workers(options)
    load = os.getloadavg()[0]
    study_config = _config_files.read(options.config, options.overrides)
    labels, runs = _runs(study_config, options)
    results = _measured(runs, options)
    if len(results) > len(runs):  # several figures of one run
        labels, runs = [""] * len(results), runs * len(results)
    for label, result in zip(labels, results, strict=True):
        if label:
            print(f"\n{label}")
        has_profile = "profile" in result
        lines = _profile_lines(result["profile"]) if has_profile else _cost_lines(result)
        print("\n".join(lines))
    if options.out:
        about = {
            "study": study_config.name,
            "overrides": list(options.overrides),
            "load_before": load,
        }
        new = [
            {**about, "label": label, "provenance": provenance(run), **result}
            for label, run, result in zip(labels, runs, results, strict=True)
        ]
        records.write_json(options.out, [*older, *new])
    return 0


def _check_flags(options: Options) -> None:
    """Refuse two kinds of measurements in one command."""
    kinds = ("compare", "profile", "members", "evaluation", "peer")
    flags = [f"--{kind}" for kind in kinds if getattr(options, kind)]
    # A profile of each run of a sweep is possible.
    if len(flags) > 1 and flags != ["--compare", "--profile"]:
        raise UserError(f"Give one of {' and '.join(flags)}: each measures something else.")


def _measured(runs: list[Run], options: Options) -> list[JsonObject]:
    steps = options.steps
    if options.profile:
        if not steps:
            raise UserError("--profile needs steps to look at: --steps=1 or more.")
        return [
            {"steps": steps, "profile": profile.profile(step_time.Program(run), steps)}
            for run in runs
        ]
    if not steps and (options.members or options.evaluation or options.peer):
        raise UserError("--members, --evaluation and --peer need steps to time: --steps=1 or more.")
    if options.members:
        return costs.members(runs[0], options.members, steps)
    if options.evaluation:
        return [costs.evaluation(runs[0], steps)]
    if options.peer:
        return peer.compare(runs[0], steps)
    if options.compare:
        return step_time.compare(runs, steps)
    return [step_time.measure(runs[0], steps)]


def _in_workers(options: Options) -> int:
    """Run the command in several pinned processes at once, and add their figures to --out."""
    # The last one of two equal flags counts.
    command = [sys.executable, "-m", "experiments.benchmark", *sys.argv[1:], "--workers=1"]
    with tempfile.TemporaryDirectory() as folder:
        outs, processes = [Path(folder, f"{i}.json") for i in range(options.workers)], []
        for i, out in enumerate(outs):
            place = local.Place.of(i, options.workers)
            process = subprocess.Popen(
                [*command, f"--out={out}"],
                env=os.environ | place.environment(),
                stdout=None if i == 0 else subprocess.DEVNULL,
            )
            place.pin(process.pid)
            processes.append(process)
        statuses = [process.wait() for process in processes]
        for i, status in enumerate(statuses):
            if status < 0:
                print(f"failed: worker {i} was killed by signal {-status}", file=sys.stderr)
        if any(statuses):
            return max(map(abs, statuses))
        by_worker = [json.loads(out.read_text(encoding="utf-8")) for out in outs]
    for same in zip(*by_worker, strict=True):
        rates = [1 / figure["seconds_per_step"] for figure in same]
        print(
            f"{same[0].get('what') or same[0]['label'] or 'all workers':22} "
            f"{sum(rates):.3f} steps/s, {len(rates)} workers"
        )
    if options.out:
        new = [{**figure, "worker": i} for i, own in enumerate(by_worker) for figure in own]
        records.write_json(options.out, [*figures.older(options.out), *new])
    return 0


def _cost_lines(costs: JsonObject) -> list[str]:
    return [
        f"{name:22} {round(value, 4) if isinstance(value, float) else value}"
        for name, value in costs.items()
    ]


def _profile_lines(seconds: dict[str, float]) -> list[str]:
    return [f"{1e3 * value:10.3f} ms  {place}" for place, value in seconds.items()]


def _runs(file: StudyConfig, options: Options) -> tuple[list[str], list[Run]]:
    """The run of the config without a label; with --compare, the runs of its sweep with labels."""
    if not options.compare:
        if options.only:
            raise UserError("--only chooses from a sweep: it needs --compare.")
        return [""], [config.from_dict(file.values)]
    study = file.expanded()
    labels: dict[str, str] = {}  # of the first entry of each run
    for entry in study.entries:
        words = [label for axis, label in entry.labels.items() if axis not in SEED_AXES]
        labels.setdefault(entry.run.run_id, " · ".join(filter(None, words)))
    only = tuple(options.only) or ("",)
    programs: dict[Run, Run] = {}  # the first run of each
    for run in study.runs:
        if labels[run.run_id].startswith(only):
            programs.setdefault(run.group_key(), run)
    runs = [*programs.values()]
    if not runs:
        raise unknown("--only: the sweep", only[0], labels.values())
    return [labels[run.run_id] for run in runs], runs


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.benchmark")
