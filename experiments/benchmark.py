"""What training a config costs: parameters, memory as the compiler counts it, the time of a step.
Or how fast tasks draw.

    python -m experiments.benchmark --config=configs/gpt2.py [--config.train.batch_size=2]
        [--steps=3] [--out=FILE.json] [--compare [--only=rope,t5_bias]] [--profile]
        [--members=1,9] [--evaluation] [--peer] [--workers=2]
    python -m experiments.benchmark --tasks [--out=FILE.json]

Of the config alone, without its sweep; with --compare of every run of the sweep, one step of each
in turn, with its time over that of the first; --only leaves some out. --steps=0 only compiles.
--profile says instead where the time of a step goes, by the function of pe_lab that asked for it.
--members trains so many seeds in one program; --evaluation times the whole evaluation beside the
training; --peer puts the same model of x-transformers beside it, in float32 and with half precision
where torch takes it (.venv/bin/pip install torch x-transformers). --workers=2 does all of it in two
processes at once, each on a core with one thread, as a sweep does, and their throughput is that of
both. --out adds the figures to a JSON list, with the overrides that they are for, the device and
the load of the machine. --tasks needs no config: of every task with its defaults, milliseconds for
a batch of 128 examples at length 40 on one core.
"""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from absl import flags

from configs import base
from experiments import command_line
from experiments.benchmarks import costs, peer, profile, throughput
from pe_lab.runs import config, plugins, records
from pe_lab.runs.errors import UserError, one_line, unknown
from pe_lab.runs.run import Run
from pe_lab.sweeps import study
from pe_lab.sweeps.launchers import local
from pe_lab.training.run_records import provenance

_STEPS = flags.DEFINE_integer("steps", 3, "steps that are timed", lower_bound=0)
_COMPARE = flags.DEFINE_boolean("compare", False, "measure the runs of the sweep beside each other")
_ONLY = flags.DEFINE_list(
    "only", None, "with --compare: of the sweep, the runs whose labels begin with one of these"
)
_PROFILE = flags.DEFINE_boolean(
    "profile", False, "where the time of a step goes, instead of what it costs"
)
_TASKS = flags.DEFINE_boolean(
    "tasks", False, "how fast every task draws, instead of a config's training"
)
_MEMBERS = flags.DEFINE_list("members", None, "train so many seeds in one program, as in 1,9")
_EVALUATION = flags.DEFINE_boolean("evaluation", False, "time the evaluation beside the training")
_PEER = flags.DEFINE_boolean("peer", False, "the same model of x-transformers beside it")
_WORKERS = flags.DEFINE_integer(
    "workers", 1, "processes at once, each on a core of its own with one thread", lower_bound=1
)
_OUT = flags.DEFINE_string("out", None, "a JSON file to add the figures to")


def main(file: command_line.StudyFile) -> int:
    older = _older(Path(_OUT.value)) if _OUT.value else []
    if _WORKERS.value > 1:
        return _in_workers()
    load, labels, runs = os.getloadavg()[0], *_runs(file)
    found = _measured(runs)
    if len(found) > len(runs):  # several figures of one run
        labels, runs = [""] * len(found), runs * len(found)
    for label, each in zip(labels, found, strict=True):
        if label:
            print(f"\n{label}")
        for line in _profile_lines(each["profile"]) if "profile" in each else _cost_lines(each):
            print(line)
    if _OUT.value:
        overrides = [a.lstrip("-") for a in sys.argv[1:] if a.lstrip("-").startswith("config.")]
        about = {"study": file.name, "overrides": overrides, "load_before": load}
        figures = [
            {**about, "label": label, "provenance": provenance(run), **each}
            for label, run, each in zip(labels, runs, found, strict=True)
        ]
        records.write_json(Path(_OUT.value), [*older, *figures])
    return 0


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
        return costs.members(runs[0], command_line.whole_numbers("members", _MEMBERS.value), steps)
    if _EVALUATION.value:
        return [costs.evaluation(runs[0], steps)]
    if _PEER.value:
        return peer.compare(runs[0], steps)
    return costs.compare(runs, steps) if _COMPARE.value else [costs.measure(runs[0], steps)]


def _in_workers() -> int:
    """The same command in several pinned processes at once, which add to --out one after the
    other.
    """
    arguments = [a for a in sys.argv[1:] if not a.lstrip("-").startswith("workers")]
    command = [sys.executable, "-m", "experiments.benchmark", *arguments]
    with tempfile.TemporaryDirectory() as folder:
        outs, processes = [Path(folder, f"{i}.json") for i in range(_WORKERS.value)], []
        for i, out in enumerate(outs):
            place = local.Place.of(i, _WORKERS.value)
            own = subprocess.Popen(
                [*command, f"--out={out}"],
                env=os.environ | place.environment(),
                stdout=None if i == 0 else subprocess.DEVNULL,
            )
            place.pin(own.pid)
            processes.append(own)
        statuses = [each.wait() for each in processes]
        if any(statuses):
            return max(statuses)
        found = [json.loads(out.read_text(encoding="utf-8")) for out in outs]
    for figures in zip(*found, strict=True):
        rates = [1 / each["seconds_per_step"] for each in figures]
        print(
            f"{figures[0].get('what') or figures[0]['label'] or 'all workers':22} "
            f"{sum(rates):.3f} steps/s, {len(rates)} workers"
        )
    if _OUT.value:
        both = [{**each, "worker": i} for i, figures in enumerate(found) for each in figures]
        records.write_json(Path(_OUT.value), [*_older(Path(_OUT.value)), *both])
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
    shown = (
        "–" if goal is None else f"{goal:g}" if each["milliseconds"] <= goal else f"over {goal:g}"
    )
    return f"{length:>18}{each['milliseconds']:>9.3f}{each['best_milliseconds']:>9.3f}{shown:>7}"


def _runs(file: command_line.StudyFile) -> tuple[list[str], list[Run]]:
    """The config's own run without a label, or those of its sweep, each once, with theirs."""
    if not _COMPARE.value:
        if _ONLY.value:
            raise UserError("--only chooses from a sweep: it needs --compare.")
        return [""], [config.from_dict(file.values)]
    found = study.expand(file.name, file.values, file.points, Path("results") / file.name)
    entries = {entry.run.run_id: entry for entry in reversed(found.entries)}
    labels = [" · ".join(filter(None, entries[run.run_id].labels.values())) for run in found.runs]
    only = tuple(_ONLY.value or [""])
    kept = [
        (label, run)
        for label, run in zip(labels, found.runs, strict=True)
        if label.startswith(only)
    ]
    if not kept:
        raise unknown("--only: the sweep", only[0], labels)
    return [label for label, _ in kept], [run for _, run in kept]


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
