"""Summaries of numbers over runs: a center with its interval, a count, or a setting.

    tests = study.numbers.query("metric == 'exact_match' and split == 'test'")
    summary = summarize(tests, rows=["variant"], columns=["length"])
    summary.center, summary.low, summary.high, summary.count

Each cell of a table is one of these summaries. `values_at` reads the numbers of a metric at a
point, and `of_metric` summarizes them.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pe_lab.metrics.base import LengthMetric, Limit, Value
from pe_lab.results import kaplan_meier, notes, statistics
from pe_lab.results.formats import DASH, Cell, bracket, number
from pe_lab.results.metrics import BY_NAME, VariantSummary
from pe_lab.results.run_rows import value_of
from pe_lab.results.statistics import Interval
from pe_lab.results.study import Study
from pe_lab.runs.analysis_spec import MetricPoint, MetricSpec
from pe_lab.runs.first_steps import FirstStep

Key = tuple[Any, ...]  # labels on the dimensions of a row or a column


@dataclass(frozen=True)
class Group:
    """The values of one cell.

    Attributes:
      rows: one for each run: variant, status, solved, value, …
      style: of the metric.
      candidates: the same of all settings that were tried; None if nothing was tuned.
    """

    rows: pd.DataFrame
    style: str = "share"
    lower_is_better: bool = False
    candidates: pd.DataFrame | None = None

    @property
    def strata(self) -> list[list[Value]]:
        """The known values of each variant."""
        by_variant: dict[str, list[Value]] = {name: [] for name in self.rows["variant"]}
        for name, value in zip(self.rows["variant"], values_of(self.rows, self.style), strict=True):
            if value is not None:
                by_variant[name].append(value)
        return list(by_variant.values())


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

    def _frame(self, name: str) -> pd.DataFrame:
        table = [[getattr(self.at(r, c), name) for c in self.columns] for r in self.rows]
        return pd.DataFrame(table, _index(self.rows), _index(self.columns))

    @property
    def center(self) -> pd.DataFrame:
        """Medians or other centers, or numbers of successes; NaN without a number."""
        return self._frame("value")

    @property
    def low(self) -> pd.DataFrame:
        """Lower ends of the 95 % intervals; NaN where there are too few runs for one."""
        return self._frame("low")

    @property
    def high(self) -> pd.DataFrame:
        """Upper ends of the intervals."""
        return self._frame("high")

    @property
    def count(self) -> pd.DataFrame:
        """Numbers of runs with a value."""
        return self._frame("count")

    @property
    def signs(self) -> pd.DataFrame:
        """The signs of the numbers, as tables show them."""
        return self._frame("signs")


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
    candidates: pd.DataFrame | None = None,
) -> Summary:
    """Summarize the column `value` of a frame for each combination of labels.

    Args:
      numbers: of `Study.numbers` or `values_at`.
      rows, columns: the columns of the frame with the labels.
      show: a summary of SUMMARIES.
      style: of the metric, as its file declares it.
      candidates: for summaries that compare settings, the same frame for all settings.
    """
    cells = {}
    dimensions = [*rows, *columns]
    others = groups(candidates, dimensions) if candidates is not None else {}
    by_key = groups(numbers, dimensions)
    for key, group in by_key.items():
        of_key = others.get(key)
        cell = SUMMARIES[show](Group(group, style, lower_is_better, of_key))
        cells[key[: len(rows)], key[len(rows) :]] = cell
    empty = SUMMARIES[show](Group(numbers.iloc[:0], style))
    row_keys = list(groups(numbers, rows))
    return Summary(row_keys, list(groups(numbers, columns)), cells, empty, numbers)


def groups(frame: pd.DataFrame, dimensions: Sequence[str]) -> dict[Key, pd.DataFrame]:
    """Return the rows of each combination of labels, in the order of their first use.

    Numbers are in their own order.
    """
    if not dimensions:
        return {(): frame} if len(frame) else {}  # groupby needs a key
    keys = []
    for dimension in dimensions:
        labels = list(frame[dimension].unique())
        if as_numbers(labels) is not None:
            labels.sort(key=float)
        # Categories keep this order, in which groupby then returns the groups.
        categories = pd.Index(labels, dtype=object)
        ordered = pd.Categorical(frame[dimension].astype(object), categories, ordered=True)
        keys.append(pd.Series(ordered, index=frame.index))
    return dict(list(frame.groupby(keys, observed=True, sort=True)))


def as_numbers(labels: Sequence[Any]) -> list[float] | None:
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
    keys = ["run", "evaluation"]
    if not isinstance(entry, LengthMetric):
        rows = rows[rows["offset"] == (point.offset if entry.by_offset else 0)]
    elif point.lengths is not None:
        rows = rows[(rows["offset"] == point.offset) & rows["length"].between(*point.lengths)]
        rows = _means(rows)
    else:
        rows = rows[rows["offset"] == point.offset]
        lengths = {n: point.length_for(n) for n in cases["max_length"].unique().tolist()}
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


def by_point(study: Study, metric: str) -> dict[tuple[str, int, int], list[float | None]]:
    """Return a value of each run, or None, by variant, offset and length, if one has a value."""
    rows = study.rows_of(metric)[["run", "evaluation", "offset", "length", "value"]]
    place = study.cases.groupby("variant", sort=False).cumcount()
    cases = study.cases[["variant", "run", "evaluation"]].assign(place=place)
    known = cases.merge(rows, on=["run", "evaluation"]).dropna(subset="value")
    values: dict[tuple[str, int, int], list[float | None]] = {}
    columns = [known[name].tolist() for name in ("variant", "offset", "length", "place", "value")]
    for variant, offset, length, index, value in zip(*columns, strict=True):
        key = variant, offset, length
        if key not in values:
            values[key] = [None] * study.by_name[variant]["runs"]
        values[key][index] = value
    return values


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


def read_by(study: Study, name: str) -> str:
    """Return the metric whose numbers a metric summarizes."""
    entry = BY_NAME[name]
    if not isinstance(entry, VariantSummary):
        return name
    return study.headline if entry.show == "tied" else "exact_match"


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
    name = read_by(study, metric.name)
    read = BY_NAME[name]
    point = point_of(study, metric) or metric.point
    values = cases if show in _OF_CASES else values_at(study, cases, name, point)
    candidates = None
    if study.candidates is not None and show in _OF_SETTINGS:
        candidates = _candidates(study, cases, [*rows, *columns])
        if show != "setting":
            candidates = values_at(study, candidates, name, point)
    return summarize(
        values,
        rows,
        columns,
        show,
        style=read.style,
        lower_is_better=read.lower_is_better,
        candidates=candidates,
    )


def _candidates(study: Study, cases: pd.DataFrame, dimensions: Sequence[str]) -> pd.DataFrame:
    """Return the cases of all settings of some variants, with the labels of these."""
    assert study.settings is not None
    assert study.candidates is not None
    others = [dimension for dimension in dimensions if dimension != "variant"]
    labels = cases[["variant", *others]].drop_duplicates()
    of_settings = study.candidates.drop(columns=others, errors="ignore")
    settings = study.settings.rename(columns={"runs": "compared", "solved": "num_solved"})
    shared = settings.columns.intersection(of_settings.columns)
    settings = settings.drop(columns=shared.difference(["variant", "candidate"]))
    settings["place"] = range(len(settings))
    settings["all_runs"] = settings["variant"].map(study.variants["runs"])
    # A setting without a record has one row without a run.
    merged = settings.merge(of_settings, on=["variant", "candidate"], how="left")
    numbers = {"run": -1, "evaluation": 0, "max_length": 0}
    merged[list(numbers)] = merged[list(numbers)].fillna(numbers).astype(int)
    return merged.merge(labels, on="variant")


def values_of(rows: pd.DataFrame, style: str) -> list[Value | None]:
    """Return the values of rows; None without one."""
    numbers = rows["value"].tolist()
    if style not in ("limit", "first_step"):
        return [None if value != value else value for value in numbers]
    values: list[Value | None] = []
    for value, bound in zip(numbers, rows["bound"], strict=True):
        values.append(None if value != value else value_of(value, bound, style))
    return values


def center(group: Group, show: str) -> Cell:
    """The center of a metric over the seeds of a variant, or of one variant for each task."""
    strata = group.strata
    values = list(itertools.chain(*strata))
    point = middle(values, show)
    count = len(values)
    if point is None:
        return Cell(DASH)
    if isinstance(point, Limit):
        return Cell(str(point), point.length, count=count)
    if isinstance(point, FirstStep):
        bounds = kaplan_meier.interval(_first_steps(values))
        if bounds is None:
            return Cell(str(point), point.step, count=count)
        first, last = bounds
        text = f"{point} [{first}, {last}]"
        return Cell(text, point.step, low=first.step, high=last.step, count=count)
    text = number(point, group.style)
    if show == "mean":
        spread = statistics.deviation(_numbers(values))
        if spread is not None:
            text += f" ± {number(spread, group.style, exact=False)}"
        return Cell(text, point, count=count)
    interval = _interval(group, [_numbers(stratum) for stratum in strata], show)
    text += bracket(interval, group.style)
    if interval is None:
        return Cell(text, point, count=count)
    return Cell(text, point, low=interval.low, high=interval.high, count=count)


def middle(values: Sequence[Value], show: str) -> Value | None:
    """Return a center: mean, iqm, or else the median; None without values."""
    if not values:
        return None
    # All values of a metric have the same type.
    limits = [value for value in values if isinstance(value, Limit)]
    if limits:
        # There is no limit between the two middle ones of an even count.
        return median_low(limits)
    first_steps = _first_steps(values)
    if first_steps:
        return kaplan_meier.median(first_steps)
    numbers = _numbers(values)
    if show == "mean":
        return statistics.mean(numbers)
    if show == "iqm":
        return float(statistics.interquartile_mean(numbers))
    return statistics.median(numbers)


def _numbers(values: Sequence[Value]) -> list[int | float]:
    return [value for value in values if isinstance(value, int | float)]


def _first_steps(values: Sequence[Value]) -> list[FirstStep]:
    return [value for value in values if isinstance(value, FirstStep)]


def _interval(group: Group, strata: Sequence[Sequence[int | float]], show: str) -> Interval | None:
    """Return the interval that this number of seeds allows."""
    is_single = len(strata) == 1
    if show == "median":
        # Order statistics have no form for several strata.
        return statistics.order_statistics(strata[0]) if is_single else None
    candidates = group.candidates
    if is_single and candidates is not None and candidates["candidate"].nunique() > 1:
        chosen = candidates[candidates["is_chosen"]]
        # Choosing by validation varies with the seeds, too. After a tuning in two stages, most
        # seeds have the chosen setting only, and the interval takes it as given.
        if (chosen["compared"] == chosen["all_runs"]).all():
            return choice_interval(candidates)
    if min(map(len, strata)) < statistics.BOOTSTRAP_FROM:
        return None
    return statistics.bootstrap(strata, statistics.interquartile_mean)


def choice_interval(candidates: pd.DataFrame) -> Interval | None:
    """Return an interval of the interquartile mean that includes the choice.

    Each resample of the seeds chooses anew. None below ten seeds that every candidate has finished.
    """
    by_seed: dict[int, dict[tuple[int, int], tuple[float, float]]] = {}
    columns = ["place", "seed", "data_seed", "validation_loss", "value"]
    for place, seed, data_seed, loss, value in candidates[columns].itertuples(index=False):
        of_setting = by_seed.setdefault(place, {})
        if value == value:  # not NaN
            of_setting[seed, data_seed] = loss, value
    settings = [by_seed[place] for place in sorted(by_seed)]
    num_candidates = len(settings)
    shared = [seed for seed in settings[0] if all(seed in runs for runs in settings)]
    if len(shared) < statistics.BOOTSTRAP_FROM:
        return None
    # A seed is resampled as a whole: its losses, which choose, and its outcomes.
    pairs = np.array([[runs[seed] for runs in settings] for seed in shared])  # [n, K, 2]
    rows = np.concatenate([pairs[..., 0], pairs[..., 1]], axis=1)

    def of_the_best(sample: NDArray[np.float64]) -> NDArray[np.float64] | np.float64:
        losses, outcomes = sample[..., :num_candidates], sample[..., num_candidates:]
        best = losses.mean(axis=-2).argmin(axis=-1)
        of_best = np.take_along_axis(outcomes, best[..., None, None], axis=-1)
        return statistics.interquartile_mean(of_best[..., 0])

    return statistics.bootstrap([rows], of_the_best)  # [n, 2 K]


def _every_seed(group: Group) -> Cell:
    """The value of every run. A run without a value has a dash, so that none is left out."""
    values = values_of(group.rows, group.style)
    texts = [number(value, group.style) for value in values]
    return Cell(" ".join(texts) or DASH, count=len(texts))


def _best(group: Group) -> Cell:
    """The best test value over all seeds and all settings that were tried."""
    rows = group.rows if group.candidates is None else group.candidates
    values: list[Any] = [value for value in values_of(rows, group.style) if value is not None]
    choose = min if group.lower_is_better else max
    value = choose(values, default=None)
    unrounded = value.length if isinstance(value, Limit) else value
    return Cell(number(value, group.style), unrounded, count=len(values))


def outcomes(rows: pd.DataFrame) -> tuple[int, int]:
    """Return the number of runs with the value 1, and of the runs with a known value.

    If the outcome of a finished run is known, a run that diverged counts, too: finished runs may
    have been evaluated there later, and a diverged run cannot be.
    """
    known = rows["value"].notna()
    if known.any():
        known |= rows["status"] == "diverged"
    return int(rows["value"].sum()), int(known.sum())


def _count(group: Group) -> Cell:
    """The number of runs that have the value 1, of the known ones."""
    counts = [outcomes(rows) for _, rows in group.rows.groupby("variant", sort=False)]
    successes, total = sum(k for k, _ in counts), sum(n for _, n in counts)
    if not total:
        return Cell(DASH)
    # The rates of several tasks are not one rate, so they have no interval.
    interval = statistics.wilson(successes, total) if len(counts) == 1 else None
    text = f"{successes}/{total}{bracket(interval)}"
    if interval is None:
        return Cell(text, successes, count=total)
    return Cell(text, successes, low=interval.low, high=interval.high, count=total)


def _solved(group: Group) -> Cell:
    """The number of runs that are solved, and of runs that did not finish."""
    statuses = group.rows["status"].tolist()
    count = int(group.rows["solved"].sum())
    text = f"{count}/{len(statuses)}"
    is_text = group.rows["is_text"].groupby(group.rows["variant"]).any()
    if statuses and not count and not is_text.any():
        text += " not solved"
    if statuses and is_text.all():
        text = DASH
    for status in ("diverged", "failed"):
        if status in statuses:
            text += f", {statuses.count(status)} {status}"
    return Cell(text, count, count=len(statuses))


def _finished(group: Group) -> Cell:
    count = int((group.rows["status"] == "finished").sum())
    return Cell(str(count), count, count=count)


def _setting(group: Group) -> Cell:
    """The setting that validation chose, and whether it is at the edge of its axis."""
    if group.candidates is None:
        return Cell(DASH)
    chosen = group.candidates[group.candidates["is_chosen"]]
    text = next(iter(chosen["setting"]), "") or DASH
    is_edge = bool(group.candidates["is_at_edge"].iloc[0])
    return Cell(f"{text} {notes.EDGE}" if is_edge else text)


def _tied(group: Group) -> Cell:
    """The range of a metric's median over the settings that validation does not separate."""
    if group.candidates is None:
        return Cell(DASH)
    tied = group.candidates[group.candidates["is_tied"]]
    medians = []
    for _, rows in tied.groupby("place"):
        median = middle([v for v in values_of(rows, group.style) if v is not None], "median")
        if isinstance(median, int | float):
            medians.append(median)
    if not medians:
        return Cell(DASH)
    low, high = min(medians), max(medians)
    amount = f"{tied['place'].nunique()} of {group.candidates['candidate'].nunique()}"
    ends = f"{number(low, group.style)}–{number(high, group.style)}"
    return Cell(f"{ends} ({amount})", high - low)


SUMMARIES: dict[str, Callable[[Group], Cell]] = {
    "median": lambda group: center(group, "median"),
    "mean": lambda group: center(group, "mean"),
    "iqm": lambda group: center(group, "iqm"),
    "seeds": _every_seed,
    "best": _best,
    "count": _count,
    "solved": _solved,
    "finished": _finished,
    "setting": _setting,
    "tied": _tied,
}
_OF_CASES = ("solved", "finished", "setting")  # summaries of runs, without values
_OF_SETTINGS = ("iqm", "best", "setting", "tied")
