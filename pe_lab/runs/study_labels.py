"""Check of the labels in study.json against the configs of the runs' records."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pe_lab.runs import labels, paths
from pe_lab.runs.errors import UserError
from pe_lab.runs.record_schema import JsonObject
from pe_lab.runs.study_files import Entry

# Groups of a config that are not part of a run's id, and a parent, which has another id for each
# seed: their values say nothing about the label of a run.
_NOT_COMPARED = ("evaluate", "checkpoints", "execution", "init_from")


def check(folder: Path, entries: Sequence[Entry], by_id: Mapping[str, JsonObject]) -> None:
    """Check that the labels of runs agree with the configs of their records.

    On each axis, runs with equal labels must have equal values in their configs. A label such as
    "rope" must not describe the value of other runs while its own runs have another value. A label
    that the user has chosen freely describes no value, so only the first rule holds for it.

    Raises:
      UserError: a label does not agree, so the file was changed after it was written.
    """
    for axis in _checked_axes(entries):
        value_of: dict[str, object] = {}  # by label
        run_of: dict[str, str] = {}
        for run_id, label, value in _values_on(axis, entries, by_id):
            run_of.setdefault(label, run_id)
            if value_of.setdefault(label, value) != value:
                raise _wrong_label(folder, run_id, axis, label)
        for label, value in value_of.items():
            described = [other for other in value_of.values() if _describes(label, other)]
            if described and value not in described:
                raise _wrong_label(folder, run_of[label], axis, label)


def _checked_axes(entries: Sequence[Entry]) -> list[str]:
    """Return the axes whose values are in the configs as the study set them."""
    axes = list(dict.fromkeys(axis for entry_labels, _ in entries for axis in entry_labels))
    checked = []
    for axis in axes:
        is_changed_by_another = any(other.startswith(f"{axis}.") for other in axes)
        if axis.partition(".")[0] not in _NOT_COMPARED and not is_changed_by_another:
            checked.append(axis)
    return checked


def _values_on(
    axis: str, entries: Sequence[Entry], by_id: Mapping[str, JsonObject]
) -> Iterator[tuple[str, str, object]]:
    """Yield run id, label and value of each recorded run that has one label on an axis."""
    labels_of: dict[str, set[str]] = {}
    for entry_labels, run_id in entries:
        labels_of.setdefault(run_id, set()).add(entry_labels.get(axis, ""))
    for run_id, run_labels in labels_of.items():
        # A run may be a point of several variants, such as NoPE under two position schemes.
        if run_id not in by_id or len(run_labels) > 1 or run_labels == {""}:
            continue
        config = by_id[run_id]["config"]
        if axis.partition(".")[0] == "positions" and not _reads_scheme(config):
            continue
        value = _value_at(config, axis)
        if value is not None:
            yield run_id, *run_labels, value


def _reads_scheme(config: JsonObject) -> bool:
    """Return whether an encoding reads the position scheme of the run."""
    encodings = _value_at(config, "model.encodings") or []
    return any(e.get("reads_positions") and not e.get("positions") for e in encodings)


def _value_at(config: JsonObject, path: str) -> Any:
    """Return the value at a dotted path of a config; None if the config does not have the path."""
    try:
        return paths.value_at(config, path)
    except KeyError:
        return None


def _describes(label: str, value: object) -> bool:
    """Return whether a label is one that pe_lab gives to a value of a config."""
    if not isinstance(value, Mapping | list):
        return label == str(value)
    try:
        plugins = labels.parse(label)
    except UserError:
        return False
    return labels.agrees(plugins, value if isinstance(value, list) else [value])


def _wrong_label(folder: Path, run_id: str, axis: str, label: str) -> UserError:
    return UserError(
        f"{folder}/study.json is damaged (it labels the run {run_id} {label!r} on the axis "
        f"{axis!r}, and the config of its record differs): run the sweep again to write it."
    )
