"""Records and curves for the tools in which people look at trainings: TensorBoard, Weights &
Biases.

A writer takes one run. Both libraries are optional and imported on use.
"""

import importlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pe_lab.runs import record_rows, records, study_files
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.record_schema import JsonObject

_OFF_CURVE = ("step", "exact_match", "scale_ratio")


@runtime_checkable
class Writer(Protocol):
    """Takes what one run has measured."""

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        """Numbers while it trained."""

    def by_length(self, name: str, values: Mapping[int, float]) -> None:
        """What the trained model does at each length."""

    def close(self) -> None:
        """Nothing more comes."""


class TensorBoard:
    """Event files of tensorboardX below out/<run_id>, where TensorBoard finds them; a length stands
    where a step would.
    """

    def __init__(self, out: Path, study: str, label: str, record: JsonObject):
        self.events = _library("tensorboardX", "TensorBoard").SummaryWriter(
            str(out / record["run_id"])
        )
        self.events.add_text("run", f"{study}: {label}", 0)

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            self.events.add_scalar(name, value, step)

    def by_length(self, name: str, values: Mapping[int, float]) -> None:
        for length, value in values.items():
            self.events.add_scalar(f"{name} by length", value, length)

    def close(self) -> None:
        self.events.close()


class WandB:
    """A run of Weights & Biases, grouped by variant; offline, below out/wandb, unless `online`."""

    def __init__(
        self, out: Path, study: str, label: str, record: JsonObject, *, online: bool = False
    ):
        given = dict(
            project=study,
            group=label,
            id=record["run_id"],
            name=f"{label} {record['run_id']}",
            config=record["config"],
        )
        out.mkdir(parents=True, exist_ok=True)
        self.run = _library("wandb", "W&B").init(
            dir=str(out), mode="online" if online else "offline", reinit="finish_previous", **given
        )

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=step)

    def by_length(self, name: str, values: Mapping[int, float]) -> None:
        self.run.summary.update(
            {f"{name}/length {length}": value for length, value in values.items()}
        )

    def close(self) -> None:
        self.run.finish()


WRITERS: dict[str, Callable[..., Writer]] = {"tensorboard": TensorBoard, "wandb": WandB}


def export(folder: Path, to: str, out: Path, **options: Any) -> int:
    """Gives every run of a study's folder that has a curve to a writer.

    Args:
      to: "tensorboard" or "wandb".
      out: the folder that they write to.

    Returns:
      The number of runs.

    Raises:
      UserError: there is no study, no such writer, or its library is not installed.
    """
    if to not in WRITERS:
        raise unknown("--to", to, WRITERS)
    study, entries = study_files.study_of(folder)
    found = records.read_all(folder)
    labels = {
        run_id: " ".join(v for axis, v in named.items() if v and axis != "seed") or study
        for named, run_id in entries
    }
    shown = [
        (found[run_id], label)
        for run_id, label in labels.items()
        if run_id in found and found[run_id]["curve"]
    ]
    for record, label in shown:
        write(WRITERS[to](out, study, label, record, **options), record)
    return len(shown)


def write(writer: Writer, record: JsonObject) -> None:
    """One run's curve, and every metric of its test at offset 0 by length."""
    for point in record["curve"]:
        values = {name: value for name, value in point.items() if name not in _OFF_CURVE}
        values |= {
            f"exact_match/length {length}": value for length, value in point["exact_match"].items()
        }
        values |= {
            f"rms(code) over rms(token)/{i}": value for i, value in enumerate(point["scale_ratio"])
        }
        writer.curve(
            point["step"], {name: value for name, value in values.items() if value is not None}
        )
    by_metric: dict[str, dict[int, float]] = {}
    for row in record_rows.preferred_rows(record):
        if (row["split"], row["offset"], row["override"]) == ("test", 0, None) and isinstance(
            row["value"], int | float
        ):
            by_metric.setdefault(f"test/{row['metric']}", {})[row["length"]] = row["value"]
    for name, values in by_metric.items():
        writer.by_length(name, values)
    writer.close()


def _library(name: str, tool: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        command = ".venv/bin/pip install -e '.[writers]'"
        raise UserError(f"{tool} needs {name}, which is not installed: {command}.") from e
