"""A study as pandas DataFrames: variants, runs, and numbers.

    study = frame.read("results/quickstart")
    study.runs      one row for each run
    study.numbers   one row for each number of a run
    study.variants  one row for each variant, as trained and with each evaluation override

Tables, plots, pages and sentences are queries of these frames. docs/results.md lists the columns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd

from pe_lab.results import metrics
from pe_lab.runs.studies.analysis_spec import AnalysisSpec

EVALUATED_WITH = "evaluated with"  # the dimension of evaluation overrides
RUN_COLUMNS = ["task", "seed", "data_seed", "status", "solved", "chosen", "max_length"]
COST_COLUMNS = [
    *("steps", "steps_to_solve", "steps_to_extrapolate", "measured_to", "train_flops"),
    *("train_seconds", "parameters", "max_position", "reveals_target_length", "length_name"),
    *("validation_loss", "commit", "error"),
]


@dataclass(frozen=True)
class Study:
    """The frames of a study.

    Attributes:
      axes: of the sweep, without seeds.
      variants: one row for each variant, with its name as the index: its labels by axis, the
        evaluation override ("" as trained), and what its runs have in common. `seen_offsets` has
        the largest offset of a test whose positions training showed, by length, and `repeated` the
        test lengths at which training can draw some of the inputs.
      cases: one row for each run of each variant. A run occurs several times if variants share it,
        or if it was evaluated with overrides.
      measured: one row for each number of each run, by the keys `run` and `evaluation`.
      measured_by_index: bits of a text by the index in its windows, as means over bins; `index` is
        the last one of a bin, from 1.
      missing: number of runs without a record.
      settings: after `selection.choose`, one row for each setting of each variant.
      candidates: after `selection.choose`, the cases of all settings, of the seeds that all have.
      chosen_from: after `selection.choose`, the previous names of the remaining variants.
    """

    name: str
    spec: AnalysisSpec
    axes: tuple[str, ...]
    variants: pd.DataFrame
    cases: pd.DataFrame
    measured: pd.DataFrame
    measured_curves: pd.DataFrame
    measured_attributes: pd.DataFrame
    measured_by_index: pd.DataFrame
    measured_chance: pd.DataFrame
    overrides: Mapping[int, Mapping[str, str]]
    missing: int
    settings: pd.DataFrame | None = None
    candidates: pd.DataFrame | None = None
    chosen_from: tuple[str, ...] = ()

    @cached_property
    def runs(self) -> pd.DataFrame:
        """One row for each run of each variant that has a record."""
        return self._with_labels(["run_id", "variant"], [*RUN_COLUMNS, *COST_COLUMNS])

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """One row for each number. A failed run has no number from a test."""
        numbers = self._of_runs(self.measured)
        place = numbers.columns.get_loc("evaluation")
        axes = dict.fromkeys(axis for labels in self.overrides.values() for axis in labels)
        for index, axis in enumerate(["label", *(axis for axis in axes if axis != "label")]):
            by_code = {code: labels.get(axis, "") for code, labels in self.overrides.items()}
            words = numbers["evaluation"].map({0: "", **by_code}).astype("category")
            numbers.insert(place + index, "override" if axis == "label" else axis, words)
        return numbers.drop(columns="evaluation")

    @cached_property
    def curves(self) -> pd.DataFrame:
        """One row for each number that was measured during training."""
        return self._of_runs(self.measured_curves)

    @cached_property
    def attributes(self) -> pd.DataFrame:
        """Exact match by the attributes of examples, one row for each value of an attribute."""
        return self._of_runs(self.measured_attributes)

    @cached_property
    def chance_levels(self) -> pd.DataFrame:
        """The chance levels of the tasks: task, metric, length and value.

        A predictor that sees no prompt reaches it. The highest level of the finished runs counts.
        """
        levels = self.finished[["run", "task"]].merge(self.measured_chance, on="run")
        groups = levels.groupby(["task", "metric", "length"], sort=False, observed=True)
        return groups["value"].max().reset_index()

    @property
    def _trained(self) -> pd.DataFrame:
        return self.cases[self.cases["evaluation"] == 0]

    @property
    def finished(self) -> pd.DataFrame:
        """The cases of finished runs as trained."""
        return self._trained[self._trained["status"] == "finished"]

    def _with_labels(self, first: list[str], last: list[str]) -> pd.DataFrame:
        axes = [axis for axis in self.axes if axis not in last]
        axes = [axis for axis in axes if (self.variants[axis] != "").any()]
        runs = self._trained[[*first, *axes, *last]].reset_index(drop=True)
        return runs.astype(dict.fromkeys(axes, "str"))

    def _of_runs(self, measured: pd.DataFrame) -> pd.DataFrame:
        """Return measurements with the columns of their runs. Words are categories."""
        runs = self._with_labels(["run", "run_id", "variant"], RUN_COLUMNS)
        words = runs.select_dtypes(["object", "str"]).columns
        runs[words] = runs[words].astype("category")
        return runs.merge(measured, on="run").drop(columns="run")

    @cached_property
    def by_name(self) -> dict[str, dict[str, Any]]:
        """The variants as dictionaries, by name."""
        columns = self.variants.to_dict("index")
        return {str(name): row for name, row in columns.items()}

    def cases_of(self, name: str) -> pd.DataFrame:
        """Return the cases of a variant."""
        return self._cases_by_variant.get(name, self.cases.iloc[:0])

    @cached_property
    def _cases_by_variant(self) -> dict[str, pd.DataFrame]:
        return dict(list(self.cases.groupby("variant", sort=False)))

    @cached_property
    def _rows_by_metric(self) -> dict[str, pd.DataFrame]:
        rows = self.measured[self.measured["split"] != "validation"]
        return dict(list(rows.groupby("metric", sort=False, observed=True)))

    def rows_of(self, metric: str) -> pd.DataFrame:
        """Return the numbers of a metric in the tests, by `run` and `evaluation`."""
        return self._rows_by_metric.get(metric, self.measured.iloc[:0])

    @property
    def trained(self) -> pd.DataFrame:
        """The variants as trained, without overrides."""
        return self.variants[self.variants["override"] == ""]

    @cached_property
    def grids(self) -> list[tuple[str, ...]]:
        """The axes of each grid of evaluation overrides."""
        return list(dict.fromkeys(grid for grid in self.variants["grid"] if grid))

    @cached_property
    def lengths(self) -> list[int]:
        """The test lengths."""
        return sorted(self._trained_points["length"].unique().tolist())

    @cached_property
    def offsets(self) -> list[int]:
        """The offsets of the positions in the test."""
        return sorted(self._trained_points["offset"].unique().tolist())

    @property
    def _trained_points(self) -> pd.DataFrame:
        """The points of the tests of all evaluations of the runs as trained."""
        is_test = self.measured["split"] == "test"
        is_test &= self.measured["run"].isin(self.finished["run"])
        return self.measured[is_test]

    @cached_property
    def max_lengths(self) -> list[int]:
        """The training lengths."""
        return sorted(self.finished["max_length"].unique().tolist())

    @cached_property
    def length_name(self) -> str:
        """The unit of lengths, such as symbols."""
        return " or ".join(sorted(self.finished["length_name"].unique()))

    @cached_property
    def has_text(self) -> bool:
        """Whether the task of a variant is a text."""
        return bool(self.trained["has_text"].any())

    @cached_property
    def is_of_text(self) -> bool:
        """Whether every variant models a text whose record states its size.

        Such a study has tables of a text. Older records do not state it: their tables stay.
        """
        finished = self.variants[self.variants["finished"] > 0]
        return bool(len(finished) and finished["is_corpus"].all())

    @property
    def symbol(self) -> str:
        """The symbol of a study of text: byte or token."""
        return "token" if (self.finished["symbol"] == "token").any() else "byte"

    @property
    def headline(self) -> str:
        """The name of the study's main metric."""
        if self.is_of_text and self.finished["has_bytes"].all():
            return "bits_per_byte"
        return metrics.BITS if self.has_text else "exact_match"
