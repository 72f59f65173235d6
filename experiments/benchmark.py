"""What training a config costs: parameters, memory as the compiler counts it, the time of a step. Or how fast tasks draw.

    python -m experiments.benchmark --config=configs/gpt2.py [--config.train.batch_size=2]
                                    [--steps=3] [--out=FILE.json] [--compare] [--profile]
    python -m experiments.benchmark --tasks [--out=FILE.json]

Of the config alone, without its sweep; with --compare of every run of the sweep, one step of each in turn, with its
time over that of the first. --steps=0 only compiles. --profile says instead where the time of a step goes, by the function
of pe_lab that asked for it. --out adds the figures to a JSON list, with the overrides that
they are for, the device and the load of the machine. --tasks needs no config: of every task with its defaults, milliseconds
for a batch of 128 examples at length 40 on one core.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from absl import flags

from configs import base
from experiments import command_line
from pe_lab import config, plugins, records
from pe_lab.config import Run
from pe_lab.errors import UserError, one_line
from pe_lab.sweeps import study
from pe_lab.training import benchmark, profile, throughput
from pe_lab.training.cell import provenance

_STEPS = flags.DEFINE_integer("steps", 3, "steps that are timed", lower_bound=0)
_COMPARE = flags.DEFINE_boolean("compare", False, "measure the runs of the sweep beside each other")
_PROFILE = flags.DEFINE_boolean("profile", False, "where the time of a step goes, instead of what it costs")
_TASKS = flags.DEFINE_boolean("tasks", False, "how fast every task draws, instead of a config's training")
_OUT = flags.DEFINE_string("out", None, "a JSON file to add the figures to")


def main(file: command_line.StudyFile) -> int:
    older = _older(Path(_OUT.value)) if _OUT.value else []
    load, labels, runs = os.getloadavg()[0], *_runs(file)
    found = _measured(runs)
    for label, each in zip(labels, found, strict=True):
        if label:
            print(f"\n{label}")
        for line in _profile_lines(each["profile"]) if "profile" in each else _cost_lines(each):
            print(line)
    if _OUT.value:
        overrides = [a.lstrip("-") for a in sys.argv[1:] if a.lstrip("-").startswith("config.")]
        about = {"study": file.name, "overrides": overrides, "load_before": load}
        figures = [
            {**about, "label": label, "provenance": provenance(run), **each} for label, run, each in zip(labels, runs, found, strict=True)
        ]
        records.write_json(Path(_OUT.value), [*older, *figures])
    return 0


def _measured(runs: list[Run]) -> list[dict[str, Any]]:
    steps = _STEPS.value or 0
    if _PROFILE.value:
        if not steps:
            raise UserError("--profile needs steps to look at: --steps=1 or more.")
        return [{"steps": steps, "profile": profile.profile(benchmark.Program(run), steps)} for run in runs]
    return benchmark.compare(runs, steps) if _COMPARE.value else [benchmark.measure(runs[0], steps)]


def _cost_lines(costs: dict[str, Any]) -> list[str]:
    return [f"{name:22} {round(value, 4) if isinstance(value, float) else value}" for name, value in costs.items()]


def _profile_lines(seconds: dict[str, float]) -> list[str]:
    return [f"{1e3 * value:10.3f} ms  {place}" for place, value in seconds.items()]


def tasks() -> int:
    older = _older(Path(_OUT.value)) if _OUT.value else []
    about = {"load_before": os.getloadavg()[0], "provenance": provenance(config.from_dict(base.get_config().to_dict()))}
    print(f"{'task':28}{'length':>18}{'ms':>9}{'best':>9}{'goal':>6}")
    found = []
    for each in throughput.table(plugins.names("tasks")):
        found.append(each)
        print(f"{each['task']:28}{_line(each)}", flush=True)
    if _OUT.value:
        records.write_json(Path(_OUT.value), [*older, *({**about, **each} for each in found)])
    return 0


def _line(each: dict[str, Any]) -> str:
    if each["error"]:
        return f" {each['error']}"
    length, goal = f"{each['length']} {each['unit']}", each["goal"]
    shown = "–" if goal is None else f"{goal:g}" if each["milliseconds"] <= goal else f"over {goal:g}"
    return f"{length:>18}{each['milliseconds']:>9.3f}{each['best_milliseconds']:>9.3f}{shown:>7}"


def _runs(file: command_line.StudyFile) -> tuple[list[str], list[Run]]:
    """The config's own run without a label, or those of its sweep, each once, with theirs."""
    if not _COMPARE.value:
        return [""], [config.from_dict(file.values)]
    found = study.expand(file.name, file.values, file.points, Path("results") / file.name)
    entries = {entry.run.run_id: entry for entry in reversed(found.entries)}
    return [" · ".join(filter(None, entries[run.run_id].labels.values())) for run in found.runs], found.runs


def _older(out: Path) -> list[dict[str, Any]]:
    """The figures that a file holds already; refused before anything is measured."""
    try:
        found = json.loads(out.read_text(encoding="utf-8")) if out.exists() else []
    except (OSError, ValueError) as e:
        raise UserError(f"--out={out} cannot be read ({one_line(e)}).") from e
    if not isinstance(found, list):
        raise UserError(f"--out={out} holds no list of figures.")
    return found


if __name__ == "__main__":
    if any(argument.lstrip("-") == "tasks" for argument in sys.argv[1:]):
        command_line.run(tasks)
    command_line.run_with_config(main)
