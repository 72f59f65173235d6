"""Export of records and curves to TensorBoard, Weights & Biases, Trackio and MLflow.

A writer takes one run. All libraries are optional and imported on use.
"""

import importlib
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.records import record_rows, records
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies import study_files, study_labels
from pe_lab.runs.studies.analysis_spec import SEED_AXES

_BY_LENGTH = ("exact_match", "validation_loss")  # the second one of a text
_OFF_CURVE = ("step", *_BY_LENGTH, "scale_ratio")
_LONGEST_PARAMETER = 6000  # characters that MLflow stores
_MOST_METRICS = 1000  # of a batch of MLflow

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Writer:
    """The numbers of one run.

    Attributes:
      log: writes numbers at a step: a point of the curve, or test numbers with the length as step.
      close: finishes the run. No call follows.
      summarize: writes test numbers where a step cannot follow a larger one; None if it can.
    """

    log: Callable[[int, Numbers], object]
    close: Callable[[], object]
    summarize: Callable[[Numbers], object] | None = None


def tensorboard(out: Path, study: str, label: str, record: JsonObject) -> Writer:
    """Event files of tensorboardX in out/RUN_ID."""
    library = _library("tensorboardX", "TensorBoard")
    events = library.SummaryWriter(str(out / record["run_id"]))
    events.add_text("run", f"{study}: {label}", 0)

    def log(step: int, numbers: Numbers) -> None:
        for name, value in numbers.items():
            events.add_scalar(name, value, step)

    return Writer(log, events.close)


def wandb(out: Path, study: str, label: str, record: JsonObject, *, online: bool = False) -> Writer:
    """A run of Weights & Biases in the group of its variant, offline in out/wandb by default."""
    library = _library("wandb", "W&B")
    out.mkdir(parents=True, exist_ok=True)  # after the import: a refusal leaves no folder
    run = library.init(
        dir=str(out),
        mode="online" if online else "offline",
        reinit="finish_previous",  # every run of the study is one of W&B's
        project=study,
        group=label,
        id=record["run_id"],  # so that a second export does not add a run
        name=f"{label} {record['run_id']}",
        config=record["config"],
    )
    return Writer(
        log=lambda step, numbers: run.log(dict(numbers), step=step),
        close=run.finish,
        summarize=lambda numbers: run.summary.update(dict(numbers)),
    )


def trackio(out: Path, study: str, label: str, record: JsonObject) -> Writer:
    """A run of Trackio in the group of its variant, in its database in `out`."""
    # The library reads the folder when it is imported.
    os.environ["TRACKIO_DIR"] = str(out.absolute())
    library = _library("trackio", "Trackio")
    run = library.init(
        project=study,
        name=f"{label} {record['run_id']}",
        group=label,
        config=record["config"],
        auto_log_cpu=False,
        auto_log_gpu=False,
    )
    return Writer(lambda step, numbers: run.log(dict(numbers), step=step), run.finish)


def mlflow(out: Path, study: str, label: str, record: JsonObject) -> Writer:
    """A run of MLflow, in a database in `out`, or at MLFLOW_TRACKING_URI if it is set."""
    library = _library("mlflow", "MLflow", extra="mlflow")
    place = os.environ.get("MLFLOW_TRACKING_URI")
    if not place:
        out.mkdir(parents=True, exist_ok=True)
        place = f"sqlite:///{out.absolute()}/mlflow.db"
    client = library.MlflowClient(tracking_uri=place)
    experiment = client.get_experiment_by_name(study)
    identity = experiment.experiment_id if experiment else client.create_experiment(study)
    tags = {"variant": label, "pe_lab_run_id": record["run_id"]}
    run = client.create_run(identity, run_name=f"{label} {record['run_id']}", tags=tags)
    run_id = run.info.run_id
    parameters = [
        library.entities.Param(group, str(values)[:_LONGEST_PARAMETER])
        for group, values in record["config"].items()
    ]
    client.log_batch(run_id, params=parameters)
    metrics: list[object] = []  # written together, because each writing takes long

    def log(step: int, numbers: Numbers) -> None:
        for name, value in numbers.items():
            # Names of MLflow have no brackets.
            plain = re.sub(r"[^\w\-. /:]", "_", name)
            metrics.append(library.entities.Metric(plain, value, timestamp=0, step=step))

    def close() -> None:
        for first in range(0, len(metrics), _MOST_METRICS):
            client.log_batch(run_id, metrics=metrics[first : first + _MOST_METRICS])
        client.set_terminated(run_id)

    return Writer(log, close)


WRITERS: dict[str, Callable[..., Writer]] = {
    "mlflow": mlflow,
    "tensorboard": tensorboard,
    "trackio": trackio,
    "wandb": wandb,
}


def export(folder: Path, to: str, out: Path, **options: object) -> int:
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
    study = study_files.read(folder)
    by_id = records.read_all(folder)
    study_labels.check(folder, study.entries, by_id)
    # By run id, because an entry may occur twice.
    labels_of = {run_id: labels for labels, run_id in study.entries}
    number = 0
    for run_id, labels in labels_of.items():
        record = by_id.get(run_id)
        if record is None or not record["curve"]:
            continue
        # Runs of all seeds are one group.
        axes = [axis for axis in labels if axis not in SEED_AXES]
        without_seed = [labels[axis] for axis in axes if labels[axis]]
        label = " ".join(without_seed) or study.name
        writer = WRITERS[to](out, study.name, label, record, **options)
        write(writer, record)
        number += 1
    return number


def write(writer: Writer, record: JsonObject) -> None:
    """Write the curve of a run, and each test metric by length, without offset and overrides."""
    for point in record["curve"]:
        values = {name: value for name, value in point.items() if name not in _OFF_CURVE}
        for name in _BY_LENGTH:
            for length, value in point.get(name, {}).items():
                values[f"{name}/length {length}"] = value
        for index, ratio in enumerate(point["scale_ratio"]):
            values[f"rms(embedding) over rms(token)/{index}"] = ratio
        # The first point has no loss, because no step was taken before it.
        numbers = {name: value for name, value in values.items() if value is not None}
        writer.log(point["step"], numbers)
    for row in record_rows.preferred_rows(record):
        is_test = row["split"] == "test" and row["offset"] == 0 and row["override"] is None
        if not is_test or not isinstance(row["value"], int | float):
            continue
        name, length = f"test/{row['metric']}", row["length"]
        if writer.summarize:
            writer.summarize({f"{name}/length {length}": row["value"]})
        else:
            writer.log(length, {f"{name} by length": row["value"]})
    writer.close()


def _library(name: str, tool: str, extra: str = "writers") -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as e:
        command = f"pip install 'pe_lab[{extra}]'"
        raise UserError(f"{tool} needs {name}, which is not installed: {command}.") from e
