"""Summaries of numbers over runs: a center with its interval, or a count.

    tests = study.numbers.query("metric == 'exact_match' and split == 'test'")
    summary = summarize(tests, rows=["variant"], columns=["length"])
    summary.center, summary.low, summary.high, summary.count

Each cell of a table is one of these summaries. `values_at` reads the numbers of a metric at a
point, and `of_metric` summarizes them.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pe_lab.metrics.base import LengthMetric
from pe_lab.results import choice_intervals
from pe_lab.results.cells import EMPTY, SUMMARIES, Key, Sample
from pe_lab.results.formats import DASH, Cell
from pe_lab.results.metrics import BY_NAME
from pe_lab.results.statistics import Interval
from pe_lab.results.study import Study
from pe_lab.runs.errors import UserError
from pe_lab.runs.settings.declarations import check_keys
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec


@dataclass(frozen=True)
class Summary:
    """The cells of a table, by the keys of its rows and columns.

    Attributes:
      empty: the cell where there are no runs.
      values: the numbers that are summarized.
    """

    rows: list[Key]
    columns: list[Key]
    cells: Mapping[tuple[Key, Key], Cell]
    empty: Cell
    values: pd.DataFrame

    def at(self, row: Key, column: Key = ()) -> Cell:
        """Return a cell."""
        return self.cells.get((row, column), self.empty)

    def of(self, name: str) -> Cell:
        """Return the cell of a variant, in a summary with one row for each variant."""
        return self.at((name,))

    def _frame(self, number: Callable[[Cell], object]) -> pd.DataFrame:
        table = [[number(self.at(r, c)) for c in self.columns] for r in self.rows]
        return pd.DataFrame(table, _index(self.rows), _index(self.columns))

    @property
    def center(self) -> pd.DataFrame:
        """Medians or other centers, or numbers of successes; NaN without a number."""
        return self._frame(lambda cell: cell.value).astype(float)

    @property
    def low(self) -> pd.DataFrame:
        """Lower ends of the 95 % intervals; NaN where there are too few runs for one."""
        return self._frame(lambda cell: getattr(cell.interval, "low", None)).astype(float)

    @property
    def high(self) -> pd.DataFrame:
        """Upper ends of the intervals."""
        return self._frame(lambda cell: getattr(cell.interval, "high", None)).astype(float)

    @property
    def count(self) -> pd.DataFrame:
        """Numbers of runs with a value."""
        return self._frame(lambda cell: cell.count)


def _index(keys: Sequence[Key]) -> pd.Index:
    if any(len(key) > 1 for key in keys):
        return pd.MultiIndex.from_tuples(keys)
    return pd.Index([key[0] if key else "" for key in keys])


def summarize(
    numbers: pd.DataFrame,
    rows: Sequence[str],
    columns: Sequence[str] = (),
    show: str = "median",
    *,
    style: str = "share",
    lower_is_better: bool = False,
    intervals: Mapping[Key, Interval | None] = {},
) -> Summary:
    """Summarize the column `value` of a frame for each combination of labels.

    Args:
      numbers: of `Study.numbers` or `values_at`, or with a `value` of your own; NaN: unknown.
      rows, columns: the columns of the frame with the labels.
      show: median, mean, iqm (the interquartile mean), seeds, best, count (of the runs with the
        value 1, among the known ones), or solved (of the solved runs of `Study.cases`).
      style: of the metric, as its file declares it.
      intervals: of the interquartile means of some cells, in place of those of their runs.
    """
    check_keys("show", [show], SUMMARIES)
    if show == "solved" and "value" in numbers:
        raise UserError("show='solved' reads no value; show='count' counts the values that are 1.")
    places = _places(numbers, [*rows, *columns])
    by_size: dict[int, list[Key]] = {}
    for key, of_key in places.items():
        by_size.setdefault(len(of_key), []).append(key)
    cells = {}
    # NumPy computes the cells with equally many runs together.
    for keys in by_size.values():
        of_size = np.array([places[key] for key in keys])
        sample = Sample(keys, numbers, of_size, style, lower_is_better, intervals)
        for key, cell in zip(keys, SUMMARIES[show](sample), strict=True):
            cells[key[: len(rows)], key[len(rows) :]] = cell
    row_keys, column_keys = list(_places(numbers, rows)), list(_places(numbers, columns))
    return Summary(row_keys, column_keys, cells, EMPTY.get(show, Cell(DASH)), numbers)


def groups(frame: pd.DataFrame, dimensions: Sequence[str]) -> dict[Key, pd.DataFrame]:
    """Return the rows of each combination of labels, in the order of their first use.

    Numbers are in their own order.
    """
    return {key: frame.iloc[places] for key, places in _places(frame, dimensions).items()}


def _places(frame: pd.DataFrame, dimensions: Sequence[str]) -> dict[Key, list[int]]:
    """Return the places of the rows of each combination of labels, in the order of `groups`."""
    check_keys("The frame", dimensions, frame)
    columns = [frame[dimension].tolist() for dimension in dimensions]
    keys = zip(*columns, strict=True) if columns else [()] * len(frame)
    places: dict[Key, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    ranks = [_ranks(column) for column in columns]

    def rank(key: Key) -> list[int]:
        return [of_column[label] for of_column, label in zip(ranks, key, strict=True)]

    return {key: places[key] for key in sorted(places, key=rank)}


def _ranks(labels: Sequence[str | int | float]) -> dict[str | int | float, int]:
    order = list(dict.fromkeys(labels))
    if as_numbers(order) is not None:
        order.sort(key=float)
    return {label: rank for rank, label in enumerate(order)}


def as_numbers(labels: Sequence[str | int | float]) -> list[float] | None:
    """Return labels as numbers; None if one of them is no number."""
    try:
        return [float(label) for label in labels]
    except ValueError:
        return None


def values_at(
    study: Study, cases: pd.DataFrame, metric: str, point: MetricPoint = MetricPoint()
) -> pd.DataFrame:
    """Return cases with the value of a metric at a point.

    Returns:
      The cases in their order, with the columns value and bound; NaN without a value. For a range
      of lengths, the value is the mean; NaN if one of the measured lengths in it has no value.
    """
    entry = BY_NAME[metric]
    rows = study.rows_of(metric)
    if len(cases) < len(study.cases):  # a contrast has two variants of a thousand
        rows = rows[rows["run"].isin(cases["run"])]
    keys = ["run", "evaluation"]
    if not isinstance(entry, LengthMetric):
        rows = rows[rows["offset"] == (point.offset if entry.by_offset else 0)]
    elif point.lengths is not None:
        rows = rows[(rows["offset"] == point.offset) & rows["length"].between(*point.lengths)]
        rows = _means(rows)
    else:
        rows = rows[rows["offset"] == point.offset]
        lengths = {n: point.length_for(n) for n in cases["max_length"].unique().tolist()}
        # No row has length -1, so the merge leaves NaN.
        lengths = {n: -1 if length is None else length for n, length in lengths.items()}
        cases = cases.assign(length=cases["max_length"].map(lengths))
        keys.append("length")
    return cases.merge(rows[[*keys, "value", "bound"]], on=keys, how="left")


def _means(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the mean over lengths of each run; NaN if a length has no value."""
    groups = rows.groupby(["run", "evaluation"], sort=False)["value"]
    # A mean over fewer lengths would be another number.
    means = groups.mean().where(groups.count() == groups.size())
    return means.reset_index().assign(bound="")


def by_point(study: Study, metrics: Sequence[str]) -> pd.DataFrame:
    """Return the numbers of each variant at each point of the tests, as trained and shifted.

    Returns:
      One row for each variant, offset, metric and length with a number, in this order. The columns
      0, 1, … are the runs of the variant; NaN without a number or a run.
    """
    of_metrics = pd.concat([study.rows_of(metric) for metric in metrics])
    run = study.cases.groupby("variant", sort=False).cumcount()
    cases = study.cases[["variant", "run", "evaluation"]].assign(index=run)
    known = cases.merge(of_metrics.dropna(subset="value"), on=["run", "evaluation"])
    # Categories have the order of the study and of the arguments, in which `pivot` sorts.
    known["variant"] = pd.Categorical(known["variant"], list(study.by_name))
    known["metric"] = pd.Categorical(known["metric"].astype(object), list(metrics))
    keys = ["variant", "offset", "metric", "length"]
    table = known.pivot(index=keys, columns="index", values="value")
    # A variant without a number may have the most runs.
    return table.reindex(columns=range(study.variants["runs"].max()))


def point_of(study: Study, metric: MetricSpec) -> MetricPoint | None:
    """Return the point of a metric; None for metrics without one, such as `steps`."""
    entry, point = BY_NAME[metric.name], metric.point
    extrapolation = study.spec.extrapolation.point
    if entry.by_length and (point.has_length or not entry.at_extrapolation):
        return point
    if entry.tested_to is not None:
        return MetricPoint(at=entry.tested_to, offset=point.offset)
    if not entry.at_extrapolation:
        return None
    if point.offset:
        return MetricPoint(
            extrapolation.at, extrapolation.length, extrapolation.lengths, point.offset
        )
    return extrapolation


def of_metric(
    study: Study,
    cases: pd.DataFrame,
    metric: MetricSpec,
    rows: Sequence[str] = ("variant",),
    columns: Sequence[str] = (),
) -> Summary:
    """Summarize a metric of cases at its point.

    Args:
      cases: of the study, with the columns `rows` and `columns`.
    """
    entry = BY_NAME[metric.name]
    show = entry.show or metric.show
    point = point_of(study, metric) or metric.point
    # The count of solved runs reads a column of the cases.
    values = cases if show == "solved" else values_at(study, cases, metric.name, point)
    intervals = {}
    summarized = values
    if study.candidates is not None and show in ("iqm", "best"):
        candidates = _candidates(study, cases, [*rows, *columns])
        of_settings = values_at(study, candidates, metric.name, point)
        if show == "best":
            summarized = of_settings
        else:
            intervals = choice_intervals.by_cell(study, groups(of_settings, [*rows, *columns]))
    table = summarize(
        summarized,
        rows,
        columns,
        show,
        style=entry.style,
        lower_is_better=entry.lower_is_better,
        intervals=intervals,
    )
    return dataclasses.replace(table, values=values)


def _candidates(study: Study, cases: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """Return the cases of all settings of some variants, with the labels of these."""
    assert study.candidates is not None
    others = [dimension for dimension in dimensions if dimension != "variant"]
    labels = cases[["variant", *others]].drop_duplicates()
    return study.candidates.drop(columns=others, errors="ignore").merge(labels, on="variant")
