"""Export of records and curves to TensorBoard, Weights & Biases, Trackio and MLflow.

A writer takes one run. All libraries are optional and imported on use.
"""

import importlib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pe_lab.runs import record_rows, records, study_files, study_labels
from pe_lab.runs.analysis_spec import SEED_AXES
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.record_schema import JsonObject

_OFF_CURVE = ("step", "exact_match", "scale_ratio")


@runtime_checkable
class Writer(Protocol):
    """The contract of a writer: the numbers of one run."""

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        """Write the numbers of a point of the training curve."""

    def by_length(self, name: str, values: Mapping[int, float]) -> None:
        """Write a metric of the trained model at each length."""

    def close(self) -> None:
        """Finish the run. No call follows."""


class TensorBoard:
    """Event files of tensorboardX in out/RUN_ID. The step of a metric by length is the length."""

    def __init__(self, out: Path, study: str, label: str, record: JsonObject):
        library = _library("tensorboardX", "TensorBoard")
        self.events = library.SummaryWriter(str(out / record["run_id"]))
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
    """A run of Weights & Biases in the group of its variant, offline in out/wandb by default."""

    def __init__(
        self, out: Path, study: str, label: str, record: JsonObject, *, online: bool = False
    ):
        library = _library("wandb", "W&B")
        out.mkdir(parents=True, exist_ok=True)  # after the import: a refusal leaves no folder
        self.run = library.init(
            dir=str(out),
            mode="online" if online else "offline",
            reinit="finish_previous",  # every run of the study is one of W&B's
            project=study,
            group=label,
            id=record["run_id"],  # so that a second export does not add a run
            name=f"{label} {record['run_id']}",
            config=record["config"],
        )

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=step)

    def by_length(self, name: str, values: Mapping[int, float]) -> None:
        by_name = {f"{name}/length {length}": value for length, value in values.items()}
        self.run.summary.update(by_name)

    def close(self) -> None:
        self.run.finish()


class Trackio:
    """A run of Trackio in the group of its variant, in its database in `out`."""

    def __init__(self, out: Path, study: str, label: str, record: JsonObject):
        # The library reads the folder when it is imported.
        os.environ["TRACKIO_DIR"] = str(out.absolute())
        library = _library("trackio", "Trackio")
        self.run = library.init(
            project=study,
            name=f"{label} {record['run_id']}",
            group=label,
            config=record["config"],
            auto_log_cpu=False,
            auto_log_gpu=False,
        )

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        self.run.log(dict(values), step=step)

    def by_length(self, name: str, values: Mapping[int, float]) -> None:
        for length, value in values.items():
            self.run.log({f"{name} by length": value}, step=length)

    def close(self) -> None:
        self.run.finish()


class MLflow:
    """A run of MLflow, in a database in `out`, or at MLFLOW_TRACKING_URI if it is set."""

    def __init__(self, out: Path, study: str, label: str, record: JsonObject):
        library = _library("mlflow", "MLflow", extra="mlflow")
        place = os.environ.get("MLFLOW_TRACKING_URI")
        if not place:
            out.mkdir(parents=True, exist_ok=True)
            place = f"sqlite:///{out.absolute()}/mlflow.db"
        self.client = library.MlflowClient(tracking_uri=place)
        experiment = self.client.get_experiment_by_name(study)
        identity = experiment.experiment_id if experiment else self.client.create_experiment(study)
        tags = {"variant": label, "pe_lab_run_id": record["run_id"]}
        run = self.client.create_run(identity, run_name=f"{label} {record['run_id']}", tags=tags)
        self.run_id = run.info.run_id
        self.metric = library.entities.Metric
        self.metrics: list[Any] = []  # written together, because each writing takes long
        parameters = [
            library.entities.Param(group, str(values)[:_LONGEST_PARAMETER])
            for group, values in record["config"].items()
        ]
        self.client.log_batch(self.run_id, params=parameters)

    def curve(self, step: int, values: Mapping[str, float]) -> None:
        for name, value in values.items():
            # Names of MLflow have no brackets.
            plain = re.sub(r"[^\w\-. /:]", "_", name)
            self.metrics.append(self.metric(plain, value, timestamp=0, step=step))

    def by_length(self, name: str, values: Mapping[int, float]) -> None:
        for length, value in values.items():
            self.curve(length, {f"{name} by length": value})

    def close(self) -> None:
        for first in range(0, len(self.metrics), _MOST_METRICS):
            self.client.log_batch(self.run_id, metrics=self.metrics[first : first + _MOST_METRICS])
        self.client.set_terminated(self.run_id)


_LONGEST_PARAMETER = 6000  # characters that MLflow stores
_MOST_METRICS = 1000  # of a batch
WRITERS: dict[str, Callable[..., Writer]] = {
    "mlflow": MLflow,
    "tensorboard": TensorBoard,
    "trackio": Trackio,
    "wandb": WandB,
}


def export(folder: Path, to: str, out: Path, **options: Any) -> int:
    """Write every run of a study that has a curve.

    Args:
      to: the name of a writer.
      out: the folder that the writer writes to.

    Returns:
      The number of runs.

    Raises:
      UserError: the folder has no study, the writer is unknown, or its library is not installed.
    """
    if to not in WRITERS:
        raise unknown("--to", to, WRITERS)
    study, entries = study_files.study_of(folder)
    by_id = records.read_all(folder)
    study_labels.check(folder, entries, by_id)
    # By run id, because an entry may occur twice.
    labels_of = {run_id: labels for labels, run_id in entries}
    number = 0
    for run_id, labels in labels_of.items():
        record = by_id.get(run_id)
        if record is None or not record["curve"]:
            continue
        # Runs of all seeds are one group.
        axes = [axis for axis in labels if axis not in SEED_AXES]
        without_seed = [labels[axis] for axis in axes if labels[axis]]
        label = " ".join(without_seed) or study
        writer = WRITERS[to](out, study, label, record, **options)
        write(writer, record)
        number += 1
    return number


def write(writer: Writer, record: JsonObject) -> None:
    """Write the curve of a run, and each test metric by length, without offset and overrides."""
    for point in record["curve"]:
        values = {name: value for name, value in point.items() if name not in _OFF_CURVE}
        for length, exact_match in point["exact_match"].items():
            values[f"exact_match/length {length}"] = exact_match
        for index, ratio in enumerate(point["scale_ratio"]):
            values[f"rms(embedding) over rms(token)/{index}"] = ratio
        # The first point has no loss, because no step was taken before it.
        numbers = {name: value for name, value in values.items() if value is not None}
        writer.curve(point["step"], numbers)
    by_metric: dict[str, dict[int, float]] = {}
    for row in record_rows.preferred_rows(record):
        is_test = row["split"] == "test" and row["offset"] == 0 and row["override"] is None
        if is_test and isinstance(row["value"], int | float):
            values = by_metric.setdefault(f"test/{row['metric']}", {})
            values[row["length"]] = row["value"]
    for name, values in by_metric.items():
        writer.by_length(name, values)
    writer.close()


def _library(name: str, tool: str, extra: str = "writers") -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        command = f"pip install 'pe_lab[{extra}]'"
        raise UserError(f"{tool} needs {name}, which is not installed: {command}.") from e
