"""Adds evaluations to the finished runs of a study, without training, and writes its tables again.

    python -m experiments.evaluate --study=exposure --lengths=8,16,32 [--offsets=0,100]
        [--positions="randomized(maximum=64)"] [--task="addition(operands=3)"]
        [--encodings="rope(scaling=yarn, factor=4, trained_length=18)"]
        [--num_loops=8] [--logit_temperature=log_n]
        [--select=model.encodings=rope] [--select=seed=0] [--only_missing]
        [--allow_changed_code]

--results=FOLDER names the study by its folder. --positions and --encodings replace settings of the
trained run; arguments that they leave out keep the trained values. --encodings=none removes all
encodings. Existing rows are never overwritten: measuring a point again is an error, or skipped with
--only_missing. It is also an error if the file of an encoding, scheme or task has changed since
training. With --allow_changed_code each new row holds the digest of the changed file, and tables
prefer rows of the trained code. Exit status: 0, or 2 for wrong arguments.
"""

import ast
from typing import Any

from absl import flags

from experiments import command_line, study_folder, tables
from pe_lab.runs import study_files
from pe_lab.runs.errors import UserError
from pe_lab.runs.labels import parse
from pe_lab.sweeps import measure

study_folder.define()
_LENGTHS = flags.DEFINE_list("lengths", None, "lengths in the task's unit: 8,16,32")
_OFFSETS = flags.DEFINE_list("offsets", ["0"], "numbers that are added to all positions: 0,100")
_POSITIONS = flags.DEFINE_string("positions", None, "position scheme that replaces the trained one")
_ENCODINGS = flags.DEFINE_string(
    "encodings", None, "encodings that replace the trained ones, joined by +; or none"
)
_TASK = flags.DEFINE_string("task", None, "the trained task with other arguments")
_NUM_LOOPS = flags.DEFINE_integer("num_loops", None, "how often the layers are applied")
_LOGIT_TEMPERATURE = flags.DEFINE_string(
    "logit_temperature", None, "none or log_n, in place of the trained one"
)
_SELECT = flags.DEFINE_multi_string(
    "select", [], "path=value in the configs of the runs; may be repeated"
)
_ONLY_MISSING = flags.DEFINE_bool(
    "only_missing", False, "skip points that have been measured already"
)
_ALLOW_CHANGED_CODE = flags.DEFINE_bool(
    "allow_changed_code",
    False,
    "measure with code that changed after training, and mark the new rows",
)


def main() -> int:
    folder = study_folder.folder()
    if not _LENGTHS.value:
        raise UserError("Which lengths? Give them in the task's unit: --lengths=8,16,32.")
    study_files.study_of(folder)  # the tables need it: fail before anything is measured
    lengths = command_line.whole_numbers("lengths", _LENGTHS.value, least=1)
    offsets = command_line.whole_numbers("offsets", flags.FLAGS.offsets or [], least=0)
    request = measure.Request(
        lengths,
        offsets,
        _change(),
        _selected(_SELECT.value),
        _ONLY_MISSING.value,
        allow_changed_code=_ALLOW_CHANGED_CODE.value,
    )
    count = measure.add(folder, request, print)
    print(
        f"{count} runs have new rows" if count else "nothing to do: every run has all of these rows"
    )
    tables.show(folder)
    return 0


def _change() -> dict[str, Any] | None:
    change: dict[str, Any] = {}
    if _POSITIONS.value is not None:
        if len(schemes := parse(_POSITIONS.value)) != 1:
            raise UserError(f"--positions takes one scheme, got {_POSITIONS.value!r}.")
        change["positions"] = schemes[0]
    if _TASK.value is not None:
        if len(tasks := parse(_TASK.value)) != 1:
            raise UserError(f"--task takes one task, got {_TASK.value!r}.")
        change["task"] = tasks[0]
    if _ENCODINGS.value is not None:
        change["encodings"] = parse(_ENCODINGS.value)
    for flag in (_NUM_LOOPS, _LOGIT_TEMPERATURE):
        if flag.value is not None:
            change[flag.name] = flag.value
    return change or None


def _selected(pairs: list[str]) -> dict[str, Any]:
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
            inner[last] = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError):
            inner[last] = text
    return select


if __name__ == "__main__":
    command_line.run(main)
