"""A study as pandas DataFrames: variants, runs, and numbers.

    study = frame.read("results/quickstart")
    study.runs      one row for each run
    study.numbers   one row for each number of a run
    study.variants  one row for each variant, as trained and with each evaluation override

Tables, plots, pages and sentences are queries of these frames.
"""

import dataclasses
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
      candidates: after `selection.choose`, the cases of all settings.
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
        """One row for each run of each variant that has a record.

        Columns:
          run_id: identifies the run.
          variant: the name of its variant, which in a tuned study includes the run's own setting.
          one column for each axis of the study, with the axis path as its name, such as
            model.encodings. Its values are labels, "" where a run has no label on the axis.
          task: label of the task.
          seed, data_seed: of the weights and of the data.
          status: finished, diverged or failed.
          solved: whether validation exact match over the training lengths reaches the threshold.
          chosen: whether validation chose its values of the tuned axes; True without such axes.
          max_length: training length; 0 if the run failed.
          steps, train_flops, parameters: the cost of training; NaN if the run failed.
          train_seconds: its share of the time of a training program, without compiling and testing.
          steps_to_solve, steps_to_extrapolate: the first step of the curve at which it is solved,
            or reaches the threshold of extrapolation; NaN if it never is, or the curve ends before.
          measured_to: the last step of the curve, at which runs that are never solved are
            right-censored; for a diverged run, the last step of its budget.
          max_position: the largest position in training; NaN if the encodings read no positions.
          reveals_target_length: whether the input reveals the target length.
          length_name: the task's unit of length, such as symbols.
          validation_loss: mean up to the training length; infinite if the run did not finish.
          commit: of the code that trained it.
          error: of a run that diverged or failed.
        """
        return self._with_labels(["run_id", "variant"], [*RUN_COLUMNS, *COST_COLUMNS])

    @cached_property
    def numbers(self) -> pd.DataFrame:
        """One row for each number. A failed run has no number from a test.

        The first columns match `runs` up to `max_length`. Then follow:
          split: validation or test; run for a metric with one value a run, such as L90.
          length: of the task's examples, in the task's unit; 0 for a metric of a run.
          offset: added to every position.
          override: label of the evaluation override, "" if the run was evaluated as trained.
          one column for each axis of a grid of overrides, such as "evaluated operands".
          metric, value: the name and the number; NaN if it could not be measured.
          bound: "" if the value is exact; "<", "≥" or ">" if it is a bound of the true one.
          reason: why there is no number, "" if there is one.

        Metrics that are lists, such as `first_error`, are left out. `attributes` has exact match
        by attribute.
        """
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
        """One row for each number that was measured during training.

        The first columns match `runs` up to `max_length`. Then follow the step, the split, the
        length, the metric and the value. The metrics are `loss` (split training, no length), which
        is the mean since the previous point, and `exact_match` (split validation). A text has
        `loss` in the split validation, too.
        """
        return self._of_runs(self.measured_curves)

    @cached_property
    def attributes(self) -> pd.DataFrame:
        """Exact match by the attributes of examples, one row for each value of an attribute.

        The first columns match `runs` up to `max_length`, then split, length, offset, override.
        Then follow:
          attribute, attribute_label, attribute_value: the name, such as num_ones, the label that
            its task declares, and the number.
          count, successes: the examples with this number, and those that are right at every token.
          value: the share of successes.
          low, high: Wilson's interval of the share, at 95 %.
        """
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

    def without_grids(self) -> "Study":
        """Return the study without the points of override grids, which have their own tables."""
        variants = self.variants[self.variants["grid"].map(len) == 0]
        cases = self.cases[self.cases["variant"].isin(variants.index)]
        return dataclasses.replace(self, variants=variants, cases=cases)

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
    def is_finished(self) -> bool:
        """Whether a run has finished."""
        return bool(self.variants["finished"].any())

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
