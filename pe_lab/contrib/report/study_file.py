"""A config file, written from the records of a study, that trains the same runs again."""

import copy
import pprint
from collections.abc import Iterable, Mapping
from typing import Any

from pe_lab.runs.paths import value_at
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies.analysis_spec import SEED_AXES
from pe_lab.runs.studies.study_files import StudyFile

_LAUNCHER = {"name": "local"}  # no setting of a run, so records do not have it
# These groups change nothing that is trained, so they are no axes of the sweep.
_NOT_TRAINED = ("evaluate", "checkpoints", "execution")
_TEXT = '''"""The {count} runs of {name}, with all settings as in their records.

    pe-lab sweep {name}.py

The runs were trained with commit {commits}. {missing}Each value has its label, and the runs
have the same ids as before.
"""

from ml_collections import ConfigDict

from pe_lab.runs import grid

CONFIG = {config}

POINTS = {points}
{analysis}

def get_config():
    return ConfigDict(CONFIG)


def sweep():
    points = []
    for axes in POINTS:
        choices = {{path: [grid.labelled(*choice)] for path, choice in axes.items()}}
        points += grid.product(choices)
    return points
{analysis_function}'''


def source(file: StudyFile, records: Iterable[JsonObject], missing: int) -> str:
    """Return Python code of a config whose runs have the same ids.

    Args:
      file: the study. The config leaves out its runs without a record and states their number.
    """
    run_records = {record["run_id"]: record for record in records}
    runs = []
    for labels, run_id in file.entries:
        if run_id in run_records:
            runs.append((labels, _config(run_records[run_id]["config"], run_records)))
    base = runs[0][1]
    paths: set[str] = set()
    for _, config in runs:
        paths |= _differences(base, config)
    differing = sorted(path for path in paths if path.partition(".")[0] not in _NOT_TRAINED)
    points = []
    for labels, config in runs:
        axes = [*labels, *_unlabeled(labels, differing)]
        point = {}
        for path in axes:
            value = _without_inner_axes(config, path, axes, base)
            point[path] = (labels.get(path, ""), _tuples(value))
        points.append(point)
    commits = {str(record["provenance"].get("commit")) for record in run_records.values()}
    left_out, analysis_value, analysis_function = "", "", ""
    if missing:
        left_out = f"The config leaves out {missing} runs without a record. "
    if file.analysis:
        analysis_value = f"\nANALYSIS = {_code(file.analysis)}\n"
        analysis_function = "\n\ndef analysis():\n    return ANALYSIS\n"
    return _TEXT.format(
        name=_plain(file.name),
        count=len(run_records),
        commits=", ".join(_plain(commit) for commit in sorted(commits)),
        missing=left_out,
        config=_code({"launcher": _LAUNCHER, **base}),
        points=pprint.pformat(points, width=120, sort_dicts=False),
        analysis=analysis_value,
        analysis_function=analysis_function,
    )


def _config(config: JsonObject, run_records: Mapping[str, JsonObject]) -> JsonObject:
    """Return the settings of a run as a study's config states them.

    The seed of the data is None if it equals the run's seed. A run to start from is selected by its
    settings, and the members start from the run of their seed.
    """
    settings = dict(config)
    if settings["data_seed"] == settings["seed"]:
        settings["data_seed"] = None
    start = settings.get("init_from")
    if start and start["run_id"] in run_records:
        start_config = run_records[start["run_id"]]["config"]
        unused = (*SEED_AXES, *_NOT_TRAINED)
        select = {key: value for key, value in start_config.items() if key not in unused}
        settings["init_from"] = {**start, "select": select, "match": ("seed",)}
        del settings["init_from"]["run_id"]
    return settings


def _unlabeled(axes: Iterable[str], differing: Iterable[str]) -> list[str]:
    """Return the differing settings that no axis contains, and that contain no axis."""
    axes = list(axes)
    unlabeled = []
    for path in differing:
        is_in_axis = any(f"{path}.".startswith(f"{axis}.") for axis in axes)
        has_axis = any(axis.startswith(f"{path}.") for axis in axes)
        if not is_in_axis and not has_axis:
            unlabeled.append(path)
    return unlabeled


def _differences(a: Any, b: Any, path: str = "") -> set[str]:
    """Return the paths of the settings that differ. The spec of a plugin is one setting."""
    is_group = isinstance(a, Mapping) and isinstance(b, Mapping) and "name" not in a
    if not is_group:
        return set() if a == b else {path}
    paths = set()
    for key in a.keys() | b.keys():
        inner = f"{path}.{key}" if path else key
        paths |= _differences(a.get(key), b.get(key), inner)
    return paths


def _without_inner_axes(
    config: JsonObject, path: str, axes: Iterable[str], base: JsonObject
) -> Any:
    """Return the value of an axis. Axes inside it have the value of the first run.

    model.encodings.0.scale is inside model.encodings. Without this, one label of the outer axis
    would have several values.
    """
    inner_axes = [inner for inner in axes if inner.startswith(f"{path}.")]
    value = value_at(config, path)
    if inner_axes:
        value = copy.deepcopy(value)
    for inner in inner_axes:
        parent, _, key = inner.removeprefix(f"{path}.").rpartition(".")
        holder = value_at(value, parent) if parent else value
        holder[key] = value_at(base, inner)
    return value


def _code(value: object) -> str:
    return pprint.pformat(_tuples(value), width=120, sort_dicts=False)


def _tuples(value: object) -> Any:
    """Replace the lists of JSON by tuples, as in configs."""
    if isinstance(value, Mapping):
        return {key: _tuples(inner) for key, inner in value.items()}
    return tuple(_tuples(inner) for inner in value) if isinstance(value, list | tuple) else value


def _plain(text: str) -> str:
    """Replace characters that could end the docstring or leave the file's name."""
    return "".join(c if c.isalnum() or c in "_-. " else "_" for c in text)
