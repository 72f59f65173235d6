"""The results of a study as a pandas DataFrame, for your own analysis.

    from pe_lab.results import frame

    results = frame.read("results/quickstart")
    exact_match = results[(results.metric == "exact_match") & (results.split == "test")]
    exact_match.pivot_table("value", index="variant", columns="length", aggfunc="median")

`read` has one row for each number of a run, `read_runs` one row for each run, and `read_curves`
one row for each number that was measured during training. They read the folder of a sweep or of
a published study. They need no JAX.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from pe_lab.results import read_analysis_spec, selection, statistics, variant_names
from pe_lab.results import results as study_results
from pe_lab.runs import first_steps, record_rows, records, study_files, study_labels, validation
from pe_lab.runs.first_steps import FirstStep
from pe_lab.runs.labels import label
from pe_lab.runs.record_schema import JsonObject, RecordRow

_RUN_COLUMNS = ["run_id", "variant"]
_MEMBER_COLUMNS = ["task", "seed", "data_seed", "status", "solved", "chosen", "max_length"]
_RUN_NUMBERS = [
    "steps",
    "steps_to_solve",
    "steps_to_extrapolate",
    "measured_to",
    "train_flops",
    "parameters",
    "max_position",
]
_RUN_WORDS = ["reveals_target_length", "length_name", "error"]
_PLACE_COLUMNS = ["split", "length", "offset", "override"]
_NUMBER_COLUMNS = ["metric", "value", "reason"]
_ATTRIBUTE_COLUMNS = ["attribute", "attribute_label", "attribute_value", "count", "successes"]
_CURVE_COLUMNS = ["step", "split", "length", "metric", "value"]


def read(folder: str | Path) -> pd.DataFrame:
    """Return the measurements of a study, one row for each number.

    A run that failed has no row here. `read_runs` has a row for each run.

    Columns:
      run_id: identifies the run.
      variant: the label of its variant, as in the tables of the study.
      one column for each axis of the study, with the axis path as its name, such as
        model.encodings. Its values are labels, "" where a run has no label on the axis.
      task: label of the task.
      seed, data_seed: of the weights and of the data.
      status: finished, diverged or failed.
      solved: whether validation exact match over the training lengths reaches the threshold.
      chosen: whether validation chose the run's values of the tuned axes; True without such axes.
      max_length: training length; 0 if the run failed.
      split: validation or test.
      length: of the task's examples, in the task's unit.
      offset: added to every position.
      override: label of the evaluation override, "" if the run was evaluated as trained.
      one column for each axis of a grid of overrides, such as "evaluated operands".
      metric, value: the name and the number; NaN if it could not be measured.
      reason: why there is no number, "" if there is one.

    Metrics that are lists, such as `first_error`, are left out. `read_attributes` has exact match
    by attribute.

    Raises:
      UserError: the folder has no study, or a record is damaged.
    """
    runs, by_id = _runs_and_records(Path(folder))
    rows = []
    for run_id, record in by_id.items():
        for row in record_rows.preferred_rows(record):
            if isinstance(row["value"], list) or "attribute" in row:
                continue
            number = (row["metric"], row["value"], row["reason"] or "")
            rows.append((run_id, *_place(row), *number))
    measured = pd.DataFrame(rows, columns=["run_id", *_PLACE_COLUMNS, *_NUMBER_COLUMNS])
    measured["value"] = measured["value"].astype(float)
    axes_of = record_rows.override_axes(by_id.values())
    # The index needs a type, because there may be no override.
    labels = pd.Index(list(axes_of), dtype=object)
    axes = pd.DataFrame(list(axes_of.values()), index=labels)
    measured = measured.join(axes, on="override")
    measured[axes.columns] = measured[axes.columns].fillna("")
    return runs.merge(measured, on="run_id")


def _place(row: RecordRow) -> tuple[str, int, int, str]:
    """Return where a row was measured: the columns _PLACE_COLUMNS."""
    override = ""
    if row["override"] is not None:
        override = row["override"]["label"]
    return row["split"], row["length"], row["offset"], override


def read_runs(folder: str | Path) -> pd.DataFrame:
    """Return the runs of a study that have a record, one row for each.

    The columns are the ones of `read` up to `max_length`, and:
      steps, train_flops, parameters: the cost of training; NaN if the run failed.
      steps_to_solve, steps_to_extrapolate: the first step of the curve at which it is solved, or
        reaches the threshold of extrapolation; NaN if it never is, or the curve does not say.
      measured_to: the last step of the curve, at which runs that never are solved are
        right-censored. Of a diverged run it is the last step of its budget.
      max_position: the largest position in training; NaN if the encodings read no positions.
      reveals_target_length: whether the input reveals the target length.
      length_name: the task's unit of length, such as symbols.
      error: of a run that diverged or failed.

    Raises:
      UserError: the folder has no study, or a record is damaged.
    """
    runs, by_id = _runs_and_records(Path(folder))
    spec = read_analysis_spec.from_dict(study_files.analysis_of(Path(folder)))
    rows = []
    for run_id, record in by_id.items():
        to_extrapolate = first_steps.to_extrapolate(record, spec.extrapolation)
        cost: JsonObject = record["cost"] or {}
        exposure: JsonObject = record["exposure"] or {}
        rows.append(
            {
                "run_id": run_id,
                "steps": cost.get("steps"),
                "steps_to_solve": _if_reached(first_steps.to_solve(record)),
                "steps_to_extrapolate": _if_reached(to_extrapolate),
                "measured_to": first_steps.measured_to(record),
                "train_flops": cost.get("train_flops"),
                "parameters": cost.get("parameters"),
                "max_position": exposure.get("max_position"),
                "reveals_target_length": exposure.get("reveals_target_length", False),
                "length_name": exposure.get("length_name", ""),
                "error": record["error"] or "",
            }
        )
    more = pd.DataFrame(rows, columns=["run_id", *_RUN_NUMBERS, *_RUN_WORDS])
    # Floats, so that a run that failed can have NaN.
    more[_RUN_NUMBERS] = more[_RUN_NUMBERS].astype(float)
    return runs.merge(more, on="run_id")


def _if_reached(time: FirstStep | None) -> int | None:
    if time is None or not time.reached:
        return None
    return time.step


def read_curves(folder: str | Path) -> pd.DataFrame:
    """Return the numbers that were measured during training, one row for each.

    The columns are the ones of `read` up to `max_length`. Then follow the step, the split, the
    length, the metric and the value. The metrics are `loss` (split training, no length), which is
    the mean since the point before, and `exact_match` (split validation).

    Raises:
      UserError: the folder has no study, or a record is damaged.
    """
    runs, by_id = _runs_and_records(Path(folder))
    rows: list[tuple[Any, ...]] = []
    for run_id, record in by_id.items():
        for point in record["curve"]:
            step = point["step"]
            if point["loss"] is not None:
                rows.append((run_id, step, "training", None, "loss", point["loss"]))
            # The keys of JSON are text.
            for length, value in point["exact_match"].items():
                rows.append((run_id, step, "validation", int(length), "exact_match", value))
    curves = pd.DataFrame(rows, columns=["run_id", *_CURVE_COLUMNS])
    # A loss has no length, and Int64 has a missing value where int64 has none.
    curves = curves.astype({"length": "Int64", "value": float})
    return runs.merge(curves, on="run_id")


def read_attributes(folder: str | Path) -> pd.DataFrame:
    """Return exact match by the attributes of examples, one row for each value of an attribute.

    The columns are the ones of `read` up to `override`. Then follow:
      attribute, attribute_label, attribute_value: the name, such as num_ones, the label that its
        task declares, and the number.
      count, successes: the examples with this number, and those that are right at every token.
      value: the share of successes.
      low, high: Wilson's interval of the share, at 95 %.

    Raises:
      UserError: the folder has no study, or a record is damaged.
    """
    runs, by_id = _runs_and_records(Path(folder))
    rows = []
    for run_id, record in by_id.items():
        for row in record_rows.preferred_rows(record):
            if "attribute" not in row or row["value"] is None:
                continue
            place = _place(row)
            name = row["attribute"]
            # The first records with attributes have no labels.
            words = row.get("attribute_label", name.replace("_", " "))
            for value, count, successes in row["value"]:
                interval = statistics.wilson(successes, count)
                assert interval is not None  # records have no value without examples
                counts = (name, words, value, count, successes)
                shares = (successes / count, interval.low, interval.high)
                rows.append((run_id, *place, *counts, *shares))
    columns = ["run_id", *_PLACE_COLUMNS, *_ATTRIBUTE_COLUMNS, "value", "low", "high"]
    attributes = pd.DataFrame(rows, columns=columns)
    return runs.merge(attributes, on="run_id")


def read_chance_levels(folder: str | Path) -> pd.DataFrame:
    """Return the chance levels of the tasks of a study, one row for each number.

    A predictor that does not see the prompt reaches the chance level. The columns are the task,
    the length, the metric and the value.

    Raises:
      UserError: the folder has no study, or a record is damaged.
    """
    runs, by_id = _runs_and_records(Path(folder))
    rows = []
    for run_id, task in zip(runs["run_id"], runs["task"], strict=True):
        for level in by_id[run_id]["chance_levels"]:
            for metric in ("exact_match", "token_accuracy"):
                rows.append((task, level["length"], metric, level[metric]))
    levels = pd.DataFrame(rows, columns=["task", "length", "metric", "value"])
    # The record of every run has the levels of its task.
    return levels.drop_duplicates()


def solved_runs(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of runs that solved the training lengths."""
    return results[results["solved"]]


def medians(results: pd.DataFrame, metric: str = "exact_match", offset: int = 0) -> pd.DataFrame:
    """Return the median over runs of a test metric, evaluated as trained.

    The index has the variants in the order of the study, the columns have the lengths.
    """
    is_test = (results["split"] == "test") & (results["metric"] == metric)
    as_trained = (results["override"] == "") & (results["offset"] == offset)
    selected = results[is_test & as_trained]
    groups = selected.groupby(["variant", "length"], sort=False)["value"]
    table = groups.median().unstack("length").sort_index(axis="columns")
    # unstack sorts the variants, and a study has its own order.
    return table.reindex(selected["variant"].unique())


def _runs_and_records(folder: Path) -> tuple[pd.DataFrame, dict[str, records.Record]]:
    """Return one row for each run, with the records by run id."""
    name, entries = study_files.study_of(folder)
    by_id = records.read_all(folder)
    study_labels.check(folder, entries, by_id)
    labels = [entry for entry, _ in entries]
    axes = []
    for axis in variant_names.axes_of(labels):
        has_labels = any(entry.get(axis) for entry in labels)
        # The axis "task" is one of the columns of every study.
        if has_labels and axis not in _MEMBER_COLUMNS:
            axes.append(axis)
    rows = []
    chosen = _chosen(folder, by_id)
    variants = variant_names.names(name, labels)
    for (entry, run_id), variant in zip(entries, variants, strict=True):
        record = by_id.get(run_id)
        if record is None:
            continue
        member = record["member"]
        exposure: JsonObject = record["exposure"] or {}
        rows.append(
            (
                run_id,
                variant,
                *(entry.get(axis, "") for axis in axes),
                entry.get("task") or label(record["config"]["task"]),
                member["seed"],
                member["data_seed"],
                record["status"],
                validation.solved(record),
                run_id in chosen,
                exposure.get("max_length", 0),
            )
        )
    runs = pd.DataFrame(rows, columns=[*_RUN_COLUMNS, *axes, *_MEMBER_COLUMNS])
    # An entry that occurs twice is one run.
    return runs.drop_duplicates(), by_id


def _chosen(folder: Path, by_id: Mapping[str, records.Record]) -> set[str]:
    """Return the ids of the runs with chosen values of the tuned axes; all without such axes."""
    spec = read_analysis_spec.from_dict(study_files.analysis_of(folder))
    if not spec.tuned:
        return set(by_id)
    variants = selection.chosen(study_results.load(folder)).variants
    return {record["run_id"] for variant in variants for record in variant.runs}
