"""Adds evaluations to the finished runs of a study, without training, and writes its tables again.

    python -m experiments.evaluate --study=exposure --lengths=8,16,32 [--offsets=0,100]
        [--positions="randomized(maximum=64)"]
        [--encodings="rope(scaling=yarn, factor=4, trained_length=18)"]
        [--select=model.encodings=rope] [--select=seed=0] [--only_missing]
        [--allow_changed_code]

What --positions and --encodings leave open is as the run was trained; --encodings=none removes all.
Nothing is overwritten: what a run has measured already is an error. A changed file of an encoding,
scheme or task is an error too; with --allow_changed_code the new rows hold its digest, and tables
show them only where the code of the run has measured nothing. Exit status: 0, or 2 for a mistake.
"""

import ast
from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line, tables
from pe_lab.runs import study_files
from pe_lab.runs.errors import UserError
from pe_lab.runs.labels import parse
from pe_lab.sweeps import measure

_STUDY = flags.DEFINE_string("study", None, "its name below results/, or its folder")
_LENGTHS = flags.DEFINE_list("lengths", None, "lengths in the task's unit: 8,16,32")
_OFFSETS = flags.DEFINE_list("offsets", ["0"], "added to every position")
_POSITIONS = flags.DEFINE_string("positions", None, "a scheme in place of the trained one")
_ENCODINGS = flags.DEFINE_string(
    "encodings", None, "encodings in place of the trained ones, joined by +; none"
)
_SELECT = flags.DEFINE_multi_string(
    "select", [], "path=value of the runs' configs; may be given several times"
)
_ONLY_MISSING = flags.DEFINE_bool("only_missing", False, "pass over what has been measured already")
_ALLOW_CHANGED_CODE = flags.DEFINE_bool(
    "allow_changed_code", False, "measure with code that has changed since, and mark the new rows"
)


def main() -> int:
    if not _STUDY.value or not _LENGTHS.value:
        raise UserError("Which study, and which lengths? --study=exposure --lengths=8,16,32.")
    folder = study_files.folder_of(_STUDY.value, Path("results/here"))
    study_files.study_of(folder)  # the tables need it: fail before anything is measured
    lengths, offsets = (
        command_line.whole_numbers(name, flags.FLAGS[name].value or [])
        for name in ("lengths", "offsets")
    )
    request = measure.Request(
        lengths,
        offsets,
        _change(),
        _selected(_SELECT.value),
        _ONLY_MISSING.value,
        allow_changed_code=_ALLOW_CHANGED_CODE.value,
    )
    count = measure.add(folder, request, print)
    print(f"{count} runs have new rows" if count else "nothing to do: every run has all of it")
    tables.show(folder)
    return 0


def _change() -> dict[str, Any] | None:
    change: dict[str, Any] = {}
    if _POSITIONS.value is not None:
        if len(schemes := parse(_POSITIONS.value)) != 1:
            raise UserError(f"--positions is one scheme, got {_POSITIONS.value!r}.")
        change["positions"] = schemes[0]
    if _ENCODINGS.value is not None:
        change["encodings"] = parse(_ENCODINGS.value)
    return change or None


def _selected(pairs: list[str]) -> dict[str, Any]:
    """model.encodings=rope -> {"model": {"encodings": "rope"}}."""
    select: dict[str, Any] = {}
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals:
            raise UserError(f"--select is path=value, as in --select=seed=0, got {pair!r}.")
        *parents, last = path.split(".")
        inner = select
        for key in parents:
            inner = inner.setdefault(key, {}) if isinstance(inner, dict) else inner
        if not isinstance(inner, dict) or last in inner:
            raise UserError(f"--select says {path!r} twice.")
        try:
            inner[last] = ast.literal_eval(text)
        except (ValueError, SyntaxError, TypeError):
            inner[last] = text
    return select


if __name__ == "__main__":
    command_line.run(main)
