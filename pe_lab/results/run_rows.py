"""The rows of records: their measured numbers, and the metrics that are computed from them."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from typing import Any

import msgspec
import pandas as pd

from pe_lab.metrics import bits_per_byte
from pe_lab.metrics import negative_log_likelihood_by_place as by_place
from pe_lab.metrics.base import LengthMetric, Limit, MeasuredMetric, MeasuredRun, RunMetric, Value
from pe_lab.results import statistics
from pe_lab.results.columns import Codes, Columns
from pe_lab.results.metrics import BY_NAME
from pe_lab.runs.records import record_rows
from pe_lab.runs.records.record_schema import JsonObject, Record, RecordRow
from pe_lab.runs.settings.labels import label
from pe_lab.runs.studies import outcomes
from pe_lab.runs.studies.analysis_spec import SEED_AXES, Extrapolation
from pe_lab.runs.studies.outcomes import FirstStep

# Columns that determine the positions of a test: task with layout, and numbers by length.
INPUT = ["input", "layout_tokens", "num_tokens", "max_test_position", "seen_offsets"]
_LENGTH_METRICS = []
_RUN_METRICS = []
for _metric in BY_NAME.values():
    if isinstance(_metric, RunMetric):
        _RUN_METRICS.append(_metric)
    elif isinstance(_metric, LengthMetric) and not isinstance(_metric, MeasuredMetric):
        _LENGTH_METRICS.append(_metric)
_KEYS = itemgetter("split", "length", "offset", "override", "metric", "value", "reason")
BOUNDS = {-1: "<", 0: "", 1: "≥"}  # by the side of a limit
_FACTS = [
    *("run", "run_id", "seed", "data_seed", "status", "solved", "max_length", "task_label"),
    *("steps", "steps_to_solve", "steps_to_extrapolate", "measured_to", "train_flops"),
    *("train_seconds", "parameters", "max_position", "reveals_target_length", "length_name"),
    *("validation_loss", "commit", "error", "is_text", "is_contiguous", "solved_threshold"),
    *("scale_ratio", "has_changed_rows", "config", "provenance", *INPUT, *bits_per_byte.COLUMNS),
]


class RunRows:
    """The rows of a study, collected record by record.

    Attributes:
      evaluations: code of each evaluation override by label; 0: no override.
      axes_of: labels of each override on the axes of its grid.
    """

    def __init__(self, extrapolation: Extrapolation) -> None:
        self.extrapolation = extrapolation
        self.evaluations = Codes({"": 0})
        self.axes_of: dict[str, dict[str, str]] = {}
        self._runs: list[dict[str, object]] = []
        self._reveals: dict[int, dict[int, bool]] = {}  # by run and evaluation
        self._shared: dict[bytes, Any] = {}
        point = dict(run="i", split="w", length="i", offset="i", evaluation="i")
        self._numbers = Columns(**point, metric="w", value="d", bound="w", reason="w")
        self._curves = Columns(run="i", step="i", split="w", length="i", metric="w", value="d")
        keys = ("run", "evaluation", "offset", "length", "index")
        self._by_index = Columns(**dict.fromkeys(keys, "i"), value="d")
        self._chance = Columns(run="i", length="i", metric="w", value="d")
        self._attributes: list[tuple[object, ...]] = []

    def add(self, record: Record) -> None:
        """Add the rows of a record."""
        record = bits_per_byte.without_accuracies(record)
        run = len(self._runs)
        for row in record["rows"]:
            if row["override"] is not None:
                self._add_override(run, row["override"])
        numbers: list[tuple[object, ...]] = []
        rows = record_rows.preferred_rows(record)
        # A metric of a run reads the tests of one evaluation: as trained, or with one override.
        tests: dict[int, dict[tuple[int, int, str], RecordRow]] = {0: {}}
        for row in rows:
            # A large study has millions of rows, so each key is looked up once.
            split, length, offset, override, metric, value, reason = _KEYS(row)
            evaluation = 0 if override is None else self.evaluations[override["label"]]
            if split == "test":
                tests.setdefault(evaluation, {})[length, offset, metric] = row
            if "attribute" in row:
                self._add_attributes(run, evaluation, row)
            elif metric == by_place.METRIC and split == "test":
                bits = by_place.bits_by_index(row).items()
                self._by_index.add([(run, evaluation, offset, length, *of) for of in bits])
            elif not isinstance(value, list):
                number = math.nan if value is None else value
                point = (split, length, offset, evaluation)
                numbers.append((run, *point, metric, number, "", reason or ""))
        is_text = record["status"] == "finished" and any(
            row["metric"] == by_place.METRIC for row in rows
        )
        trained = MeasuredRun(record, tests[0], self.extrapolation)
        for evaluation, of_evaluation in tests.items():
            measured = MeasuredRun(record, of_evaluation, self.extrapolation)
            of_run = measured if evaluation else trained
            numbers += self._computed(run, evaluation, of_run)
        self._numbers.add(numbers)
        self._runs.append(self._facts(run, trained, is_text=is_text))
        self._add_curve(run, record)

    def _add_override(self, run: int, override: JsonObject) -> None:
        label = override["label"]
        axes = dict(override.get("axes", ()))
        # A point of a grid may be measured again without its grid: keep the known labels.
        if axes or label not in self.axes_of:
            self.axes_of[label] = axes
        of_run = self._reveals.setdefault(run, {})
        code = self.evaluations[label]
        of_run[code] = of_run.get(code, False) or override["reveals_target_length"]

    def _add_attributes(self, run: int, evaluation: int, row: RecordRow) -> None:
        name = row["attribute"]
        # The first records with attributes have no labels.
        words = row.get("attribute_label", name.replace("_", " "))
        override = row["override"]["label"] if row["override"] else ""
        point = (run, row["split"], row["length"], row["offset"], override)
        for value, count, successes in row["value"] or ():
            interval = statistics.wilson(successes, count)
            assert interval is not None  # records have no value without examples
            share = (successes / count, interval.low, interval.high)
            self._attributes.append((*point, name, words, value, count, successes, *share))

    def _computed(
        self, run: int, evaluation: int, measured: MeasuredRun
    ) -> Iterator[tuple[object, ...]]:
        """Yield the numbers of the metrics that the record does not hold as rows."""
        is_finished = measured.record["status"] == "finished"
        if is_finished:
            points = dict.fromkeys((length, offset) for length, offset, _ in measured.rows)
        else:
            # Without tests, a diverged run still counts as not extrapolating at its points.
            points = _points_of_config(measured.record)
        offsets = dict.fromkeys(offset for _, offset in points)
        for metric in _LENGTH_METRICS:
            for length, offset in points:
                value = metric.of_length(measured, length, offset)
                if value is not None:
                    point = ("test", length, offset, evaluation)
                    yield run, *point, metric.name, value, "", ""
        for run_metric in _RUN_METRICS:
            # A diverged run has no test, but metrics of training apply to it.
            if not is_finished and not run_metric.of_training:
                continue
            for offset in offsets if run_metric.by_offset else (0,):
                of_run = run_metric.of_run(measured, offset)
                if of_run is not None:
                    point = ("run", 0, offset, evaluation)
                    yield run, *point, run_metric.name, *_number(of_run), ""

    def _add_curve(self, run: int, record: Record) -> None:
        curve: list[tuple[object, ...]] = []
        for curve_point in record["curve"]:
            step = curve_point["step"]
            if curve_point["loss"] is not None:
                curve.append((run, step, "training", 0, "loss", curve_point["loss"]))
            # JSON keys are text, so lengths are converted.
            for length, value in curve_point["exact_match"].items():
                curve.append((run, step, "validation", int(length), "exact_match", value))
            for length, loss in curve_point.get("validation_loss", {}).items():
                if loss is not None:
                    curve.append((run, step, "validation", int(length), "loss", loss))
        self._curves.add(curve)
        levels = record["chance_levels"]
        for metric in ("exact_match", "token_accuracy"):
            self._chance.add([(run, of["length"], metric, of[metric]) for of in levels])

    def _facts(self, run: int, measured: MeasuredRun, *, is_text: bool) -> dict[str, object]:
        """Return the columns of a run that no metric has."""
        record = measured.record
        config = {key: value for key, value in record["config"].items() if key not in SEED_AXES}
        config = self._share(config)
        member = record["member"]
        cost, exposure = record["cost"] or {}, record["exposure"] or {}
        to_extrapolate = outcomes.steps_to_extrapolate(record, self.extrapolation)
        layout = config["layout"]
        # Tokens in addition to prompt and target; an encoder-decoder has two sequences, hence none.
        constant = {"decoder": 1, "encoder": 0}.get(layout["name"])
        layout_tokens = 0 if constant is None else constant + int(layout["end_token"])
        task_text = json.dumps([layout["name"], layout["end_token"], config["task"]])
        return {
            "run": run,
            "run_id": record["run_id"],
            "seed": member["seed"],
            "data_seed": member["data_seed"],
            "status": record["status"],
            "solved": measured.solved,
            "max_length": measured.max_length,
            "task_label": label(config["task"]),
            "steps": cost.get("steps", math.nan),
            "steps_to_solve": _if_reached(outcomes.steps_to_solve(record)),
            "steps_to_extrapolate": _if_reached(to_extrapolate),
            "measured_to": outcomes.measured_to(record),
            "train_flops": cost.get("train_flops", math.nan),
            "train_seconds": cost.get("train_seconds", math.nan),
            "parameters": cost.get("parameters", math.nan),
            "max_position": exposure.get("max_position"),
            "reveals_target_length": exposure.get("reveals_target_length", False),
            "length_name": exposure.get("length_name", ""),
            "validation_loss": measured.validation_loss,
            "commit": record["provenance"].get("commit") or "",
            "error": record["error"] or "",
            "is_text": is_text,
            "is_contiguous": _is_contiguous(config),
            "solved_threshold": exposure.get("solved_threshold"),
            **bits_per_byte.columns(record),
            "scale_ratio": (record["scale_ratio"] or {}).get("initial") or [],
            "has_changed_rows": record_rows.has_changed_rows(record),
            "config": config,
            "provenance": self._share(dict(record["provenance"])),
            "input": task_text,
            "layout_tokens": layout_tokens,
            "num_tokens": self._share(_by_length(exposure.get("num_tokens"))),
            "max_test_position": self._share(_by_length(exposure.get("max_test_position"))),
            "seen_offsets": self._share(_by_length(exposure.get("seen_offsets"))),
        }

    def _share(self, content: object) -> Any:
        """Return the equal object of an earlier run, if any, so that memory holds it once."""
        return self._shared.setdefault(msgspec.json.encode(content), content)

    def runs(self) -> pd.DataFrame:
        """Return one row for each run."""
        runs = pd.DataFrame(self._runs, columns=_FACTS)
        numbers = ["measured_to", "steps_to_solve", "steps_to_extrapolate", "max_position"]
        runs[numbers] = runs[numbers].astype(float)
        return runs

    def numbers(self) -> pd.DataFrame:
        return self._numbers.frame()

    def curves(self) -> pd.DataFrame:
        curves = self._curves.frame()
        # A training loss has no length. Int64, unlike int64, can hold a missing value.
        lengths = curves["length"].astype("Int64").mask(curves["split"] == "training")
        return curves.assign(length=lengths)

    def by_index(self) -> pd.DataFrame:
        return self._by_index.frame()

    def chance(self) -> pd.DataFrame:
        return self._chance.frame()

    def attributes(self) -> pd.DataFrame:
        names = ["run", "split", "length", "offset", "override", "attribute", "attribute_label"]
        names += ["attribute_value", "count", "successes", "value", "low", "high"]
        return pd.DataFrame(self._attributes, columns=names)

    def overrides_of(self, runs: Iterable[int]) -> list[str]:
        """Return the labels of the overrides that some runs were evaluated with."""
        codes = dict.fromkeys(code for run in runs for code in self._reveals.get(run, ()))
        labels = list(self.evaluations)
        return [labels[code] for code in codes]

    def reveals(self, override: str, cases: pd.DataFrame) -> list[bool]:
        """Return whether an override reveals the target length, for each case."""
        code = self.evaluations[override]
        # Not a property of the run: an override may replace the positions that reveal the length.
        return [self._reveals.get(run, {}).get(code, False) for run in cases["run"]]


def _number(value: Value) -> tuple[int | float, str]:
    """Return a value as a number, with a sign for the side of the true value."""
    if isinstance(value, Limit):
        return value.length, BOUNDS[value.side]
    if isinstance(value, FirstStep):
        return value.step, "" if value.reached else ">"
    return value, ""


def _points_of_config(record: JsonObject) -> dict[tuple[int, int], None]:
    evaluate = record["config"].get("evaluate", {})
    if record["status"] != "diverged":
        return {}
    lengths, offsets = evaluate["lengths"], evaluate["offsets"]
    return dict.fromkeys((length, offset) for length in lengths for offset in offsets)


def _if_reached(time: FirstStep | None) -> int | None:
    return time.step if time is not None and time.reached else None


def _by_length(numbers: Mapping[str, object] | None) -> dict[int, object]:
    return {int(length): number for length, number in (numbers or {}).items()}


def _is_contiguous(config: JsonObject) -> bool:
    """Return whether every encoding reads contiguous positions, of one example in each context."""
    if config["layout"]["examples_per_context"] > 1:
        return False
    for encoding in config["model"]["encodings"]:
        # An encoding without its own scheme reads the positions of the study.
        scheme = encoding.get("positions") or config["positions"]
        if encoding["reads_positions"] and scheme["name"] != "contiguous":
            return False
    return True
