"""Check of the labels in study.json against the configs of the runs' records."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pe_lab.runs import paths
from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.settings import labels
from pe_lab.runs.studies.study_files import Entry

# Groups of a config that are not part of a run's id, and a parent, which has another id for each
# seed: their values say nothing about the label of a run.
_NOT_COMPARED = ("evaluate", "checkpoints", "execution", "init_from")


class LabelCheck:
    """Checks that the labels of runs agree with the configs of their records, record by record.

    On each axis, runs with equal labels must have equal values in their configs. A label such as
    "rope" must not describe the value of other runs while its own runs have another value. A label
    that the user has chosen freely describes no value, so only the first rule holds for it.
    """

    def __init__(self, folder: Path, entries: Sequence[Entry]) -> None:
        self.folder = folder
        self._labels = _labels_by_run(entries)
        self._value_of: dict[str, dict[str, object]] = {}  # by axis and label
        self._run_of: dict[tuple[str, str], str] = {}  # the first run of an axis and a label

    def add(self, run_id: str, config: JsonObject) -> None:
        """Compare a run with the earlier runs.

        Raises:
          UserError: its label belongs to another value, so study.json was changed.
        """
        for axis, label in self._labels.get(run_id, {}).items():
            value = _value_on(axis, config)
            if value is None:
                continue
            self._run_of.setdefault((axis, label), run_id)
            if self._value_of.setdefault(axis, {}).setdefault(label, value) != value:
                raise _wrong_label(self.folder, run_id, axis, label)

    def finish(self) -> None:
        """Compare the labels with the values of all runs.

        Raises:
          UserError: a label describes the value of other runs, so study.json was changed.
        """
        for axis, value_of in self._value_of.items():
            for label, value in value_of.items():
                described = [other for other in value_of.values() if _describes(label, other)]
                if described and value not in described:
                    raise _wrong_label(self.folder, self._run_of[axis, label], axis, label)


def check(folder: Path, entries: Sequence[Entry], by_id: Mapping[str, JsonObject]) -> None:
    """Check the labels of all runs that have a record; errors as in `LabelCheck`."""
    labels_check = LabelCheck(folder, entries)
    for run_id, record in by_id.items():
        labels_check.add(run_id, record["config"])
    labels_check.finish()


def _labels_by_run(entries: Sequence[Entry]) -> dict[str, dict[str, str]]:
    """Return the label of each run on each axis whose value is in the config as the study set it.

    A run may be a point of several variants, such as NoPE under two position schemes. It is left
    out on an axis where it has several labels, or none.
    """
    axes = list(dict.fromkeys(axis for entry_labels, _ in entries for axis in entry_labels))
    labels_of: dict[str, dict[str, str]] = {}
    for axis in axes:
        is_changed_by_another = any(other.startswith(f"{axis}.") for other in axes)
        if axis.partition(".")[0] in _NOT_COMPARED or is_changed_by_another:
            continue
        on_axis: dict[str, set[str]] = {}
        for entry_labels, run_id in entries:
            on_axis.setdefault(run_id, set()).add(entry_labels.get(axis, ""))
        for run_id, run_labels in on_axis.items():
            if len(run_labels) == 1 and run_labels != {""}:
                labels_of.setdefault(run_id, {})[axis] = run_labels.pop()
    return labels_of


def _value_on(axis: str, config: JsonObject) -> object:
    """Return the value of a config on an axis; None if its label says nothing about it."""
    if axis.partition(".")[0] == "positions" and not _reads_scheme(config):
        return None
    return _value_at(config, axis)


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
