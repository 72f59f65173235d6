"""Adds evaluations to the finished runs of a study, without training.

    pe-lab evaluate exposure --lengths=8,16,32 [--offsets=0,100]
        [--positions="randomized(maximum=64)"] [--task="addition(operands=3)"]
        [--encodings="rope(scaling=yarn, factor=4, trained_length=18)"]
        [--num-loops=8] [--logit-temperature=log_n]
        [--select=model.encodings=rope] [--select=seed=0] [--only-missing]
        [--allow-changed-code]

The study's tables are written again. --positions and --encodings replace settings of the trained
run; arguments that they leave out keep the trained values. --encodings=none removes all encodings.
Existing rows are never overwritten: measuring a point again is an error, or skipped with
--only-missing. After a kill, the same command goes on with what it lacks. It is also an error if
the file of an encoding, scheme or task has changed since training. With --allow-changed-code each
new row holds the digest of the changed file, and tables prefer rows of the trained code. Exit
status: 0, or 2 for wrong arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab.cli import _config_files, _studies, tables
from pe_lab.cli._arguments import allow_plugins, argument, flag, whole_number, whole_numbers
from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings.labels import parse
from pe_lab.runs.settings.typed_values import literal
from pe_lab.runs.studies import study_files
from pe_lab.runs.system import terminal


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab evaluate`."""

    study: Path = argument(_studies.HELP, _config_files.study_folder)
    lengths: Sequence[int] = flag(
        "lengths in the task's unit: 8,16,32", whole_numbers(1), default=()
    )
    offsets: Sequence[int] = flag(
        "numbers that are added to all positions: 0,100", whole_numbers(0), default=(0,)
    )
    positions: str | None = flag("position scheme that replaces the trained one", default=None)
    encodings: str | None = flag(
        "encodings that replace the trained ones, joined by +; or none", default=None
    )
    task: str | None = flag("the trained task with other arguments", default=None)
    num_loops: int | None = flag("how often the layers are applied", whole_number(1), default=None)
    logit_temperature: str | None = flag("none or log_n, in place of the trained one", default=None)
    select: Sequence[str] = flag(
        "path=value in the configs of the runs; may be repeated", default=(), repeated=True
    )
    only_missing: bool = flag("skip points that have been measured already")
    allow_changed_code: bool = flag(
        "measure with code that changed after training, and mark the new rows"
    )
    allow_plugins: Sequence[str] = allow_plugins()


def run(options: Options) -> int:
    folder = options.study
    if not options.lengths:
        raise UserError("Which lengths? Give them in the task's unit: --lengths=8,16,32.")
    study_files.read(folder)  # the tables need it: fail before anything is measured
    override, select = _override(options), _selected(options.select)
    from pe_lab.contrib.evaluation import measure  # imports JAX

    request = measure.EvaluationRequest(
        tuple(options.lengths),
        tuple(options.offsets),
        override,
        select,
        options.only_missing,
        allow_changed_code=options.allow_changed_code,
    )
    with measure.continued(folder, request) as (continued, begin):
        count = measure.add(folder, continued, terminal.show, begin)
        none = "nothing to do: every run has all of these rows"
        terminal.show(f"{count} runs have new rows" if count else none)
        tables.show(folder)
    return 0


def _override(options: Options) -> JsonObject | None:
    """Return what replaces settings of the trained runs; None if nothing does."""
    override: dict[str, object] = {}
    if options.positions is not None:
        if len(schemes := parse(options.positions)) != 1:
            raise UserError(f"--positions takes one scheme, got {options.positions!r}.")
        override["positions"] = schemes[0]
    if options.task is not None:
        if len(tasks := parse(options.task)) != 1:
            raise UserError(f"--task takes one task, got {options.task!r}.")
        override["task"] = tasks[0]
    if options.encodings is not None:
        override["encodings"] = parse(options.encodings)
    if options.num_loops is not None:
        override["num_loops"] = options.num_loops
    if options.logit_temperature is not None:
        override["logit_temperature"] = options.logit_temperature
    return override or None


def _selected(pairs: Sequence[str]) -> JsonObject:
    """model.encodings=rope -> {"model": {"encodings": "rope"}}."""
    select: dict[str, Any] = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals:
            raise UserError(f"--select takes path=value, as in --select=seed=0, got {pair!r}.")
        *parents, last = path.split(".")
        inner = select
        for key in parents:
            inner = inner.setdefault(key, {}) if isinstance(inner, dict) else inner
        if not isinstance(inner, dict) or last in inner:
            raise UserError(f"--select names {path!r} twice.")
        try:
            inner[last] = literal(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            inner[last] = text
        except TypeError as e:
            raise UserError(
                f"--select compares with texts, numbers, True, False, None or lists of them, got "
                f"{pair!r}."
            ) from e
    return select
