"""Measures the cost of training a config: parameters, memory, time of a step. Or of drawing tasks.

    python -m experiments.benchmark --config=configs/gpt2.py [--config.train.batch_size=2]
        [--steps=3] [--out=FILE.json] [--compare [--only=rope,t5_bias]] [--profile]
        [--members=1,9] [--evaluation] [--peer] [--workers=2]
    python -m experiments.benchmark --tasks [--out=FILE.json]

By default the config is measured without its sweep. --compare measures every run of the sweep, one
step of each in turn, relative to the first; --only selects some of them. --steps=0 only compiles.
--profile reports the time of a step by the function of pe_lab that causes it. --members trains
several seeds in one program. --evaluation times the whole evaluation and compares it with training.
--peer compares the same model in x-transformers, in float32 and in half precision if torch has it
(.venv/bin/pip install torch x-transformers). --workers=2 runs two processes at once, each on a core
with one thread, as a sweep does, and reports their joint throughput.

--out adds the figures to a JSON list, with the overrides, the device and the load of the machine.
--tasks needs no config: it measures every task with its defaults, in milliseconds for a batch of
128 examples at length 40 on one core.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line
from experiments.benchmarks import costs, peer, profile, throughput
from pe_lab.runs import config, plugins, records
from pe_lab.runs.errors import UserError, one_line, unknown
from pe_lab.runs.run import Run
from pe_lab.studies import base
from pe_lab.sweeps import study
from pe_lab.sweeps.launchers import local
from pe_lab.training.run_records import provenance

_STEPS = flags.DEFINE_integer("steps", 3, "steps that are timed", lower_bound=0)
_COMPARE = flags.DEFINE_boolean("compare", False, "measure the runs of the sweep in turns")
_ONLY = flags.DEFINE_list(
    "only", None, "with --compare: the runs whose labels begin with one of these"
)
_PROFILE = flags.DEFINE_boolean(
    "profile", False, "report the time of a step by function, instead of its cost"
)
_TASKS = flags.DEFINE_boolean(
    "tasks", False, "measure how fast tasks draw examples, instead of a config's training"
)
_MEMBERS = flags.DEFINE_list(
    "members", None, "numbers of seeds that are trained in one program, as in 1,9"
)
_EVALUATION = flags.DEFINE_boolean(
    "evaluation", False, "time the evaluation and compare it with training"
)
_PEER = flags.DEFINE_boolean("peer", False, "compare the same model in x-transformers")
_WORKERS = flags.DEFINE_integer(
    "workers", 1, "parallel processes, each on one core with one thread", lower_bound=1
)
_OUT = flags.DEFINE_string("out", None, "a JSON file to add the figures to")


def main(file: command_line.StudyFile) -> int:
    _check_flags()
    older = _older(Path(_OUT.value)) if _OUT.value else []
    if _WORKERS.value > 1:
        if _PROFILE.value or not _STEPS.value:
            raise UserError("--workers needs steps to time, so neither --profile nor --steps=0.")
        return _in_workers()
    load = os.getloadavg()[0]
    labels, runs = _runs(file)
    results = _measured(runs)
    if len(results) > len(runs):  # several figures of one run
        labels, runs = [""] * len(results), runs * len(results)
    for label, result in zip(labels, results, strict=True):
        if label:
            print(f"\n{label}")
        has_profile = "profile" in result
        lines = _profile_lines(result["profile"]) if has_profile else _cost_lines(result)
        print("\n".join(lines))
    if _OUT.value:
        overrides = [a.lstrip("-") for a in sys.argv[1:] if a.lstrip("-").startswith("config.")]
        about = {"study": file.name, "overrides": overrides, "load_before": load}
        figures = [
            {**about, "label": label, "provenance": provenance(run), **result}
            for label, run, result in zip(labels, runs, results, strict=True)
        ]
        records.write_json(Path(_OUT.value), [*older, *figures])
    return 0


def _check_flags() -> None:
    """Refuse two kinds of measurements in one command."""
    flags_of_kinds = (_COMPARE, _PROFILE, _MEMBERS, _EVALUATION, _PEER)
    given = [f"--{flag.name}" for flag in flags_of_kinds if flag.value]
    # A profile of each run of a sweep is possible.
    if len(given) > 1 and given != ["--compare", "--profile"]:
        raise UserError(f"Give one of {' and '.join(given)}: each measures something else.")


def _measured(runs: list[Run]) -> list[dict[str, Any]]:
    steps = _STEPS.value or 0
    if _PROFILE.value:
        if not steps:
            raise UserError("--profile needs steps to look at: --steps=1 or more.")
        return [
            {"steps": steps, "profile": profile.profile(costs.Program(run), steps)} for run in runs
        ]
    if not steps and (_MEMBERS.value or _EVALUATION.value or _PEER.value):
        raise UserError("--members, --evaluation and --peer need steps to time: --steps=1 or more.")
    if _MEMBERS.value:
        numbers = command_line.whole_numbers("members", _MEMBERS.value, least=1)
        return costs.members(runs[0], numbers, steps)
    if _EVALUATION.value:
        return [costs.evaluation(runs[0], steps)]
    if _PEER.value:
        return peer.compare(runs[0], steps)
    return costs.compare(runs, steps) if _COMPARE.value else [costs.measure(runs[0], steps)]


def _in_workers() -> int:
    """Run the command in several pinned processes at once, and add their figures to --out."""
    # The last one of two equal flags counts.
    command = [sys.executable, "-m", "experiments.benchmark", *sys.argv[1:], "--workers=1"]
    with tempfile.TemporaryDirectory() as folder:
        outs, processes = [Path(folder, f"{i}.json") for i in range(_WORKERS.value)], []
        for i, out in enumerate(outs):
            place = local.Place.of(i, _WORKERS.value)
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
    for figures in zip(*by_worker, strict=True):
        rates = [1 / figure["seconds_per_step"] for figure in figures]
        print(
            f"{figures[0].get('what') or figures[0]['label'] or 'all workers':22} "
            f"{sum(rates):.3f} steps/s, {len(rates)} workers"
        )
    if _OUT.value:
        new = [{**f, "worker": i} for i, figures in enumerate(by_worker) for f in figures]
        records.write_json(Path(_OUT.value), [*_older(Path(_OUT.value)), *new])
    return 0


def _cost_lines(costs: dict[str, Any]) -> list[str]:
    return [
        f"{name:22} {round(value, 4) if isinstance(value, float) else value}"
        for name, value in costs.items()
    ]


def _profile_lines(seconds: dict[str, float]) -> list[str]:
    return [f"{1e3 * value:10.3f} ms  {place}" for place, value in seconds.items()]


def tasks() -> int:
    older = _older(Path(_OUT.value)) if _OUT.value else []
    about = {
        "load_before": os.getloadavg()[0],
        "provenance": provenance(config.from_dict(base.get_config().to_dict())),
    }
    print(f"{'task':28}{'length':>18}{'ms':>9}{'best':>9}{'goal':>6}")
    rows = []
    for row in throughput.table(plugins.names("tasks")):
        rows.append(row)
        print(f"{row['task']:28}{_line(row)}", flush=True)
    if _OUT.value:
        records.write_json(Path(_OUT.value), [*older, *({**about, **row} for row in rows)])
    return 0


def _line(row: dict[str, Any]) -> str:
    if row["error"]:
        return f" {row['error']}"
    length, goal = f"{row['length']} {row['unit']}", row["goal"]
    verdict = "–"
    if goal is not None:
        verdict = f"{goal:g}" if row["milliseconds"] <= goal else f"over {goal:g}"
    return f"{length:>18}{row['milliseconds']:>9.3f}{row['best_milliseconds']:>9.3f}{verdict:>7}"


def _runs(file: command_line.StudyFile) -> tuple[list[str], list[Run]]:
    """The run of the config without a label; with --compare, the runs of its sweep with labels."""
    if not _COMPARE.value:
        if _ONLY.value:
            raise UserError("--only chooses from a sweep: it needs --compare.")
        return [""], [config.from_dict(file.values)]
    whole = study.expand(file.name, file.values, file.points, Path("results") / file.name)
    labels: dict[str, str] = {}  # of the first entry of each run
    for entry in whole.entries:
        labels.setdefault(entry.run.run_id, " · ".join(filter(None, entry.labels.values())))
    only = tuple(_ONLY.value or [""])
    runs = [run for run in whole.runs if labels[run.run_id].startswith(only)]
    if not runs:
        raise unknown("--only: the sweep", only[0], labels.values())
    return [labels[run.run_id] for run in runs], runs


def _older(out: Path) -> list[dict[str, Any]]:
    """The figures that a file already holds.

    Raises:
      UserError: the file has other content.
    """
    try:
        figures = json.loads(out.read_text(encoding="utf-8")) if out.exists() else []
    except (OSError, ValueError) as e:
        raise UserError(f"--out={out} cannot be read ({one_line(e)}).") from e
    if not isinstance(figures, list):
        raise UserError(f"--out={out} holds no list of figures.")
    return figures


if __name__ == "__main__":
    if any(re.fullmatch("--?tasks(=true|=True|=1)?", argument) for argument in sys.argv[1:]):
        command_line.run(tasks)
    command_line.run_with_config(main)
