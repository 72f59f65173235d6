"""The cells of tables: each summarizes the runs of one group as text, number, interval and count.

SUMMARIES has the summaries by name. `summary.summarize` makes the groups.
"""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median_low
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pe_lab.metrics.base import Limit, Value
from pe_lab.results import kaplan_meier, statistics
from pe_lab.results.formats import DASH, Cell, bracket, number
from pe_lab.results.run_rows import value_of
from pe_lab.results.statistics import Interval
from pe_lab.runs.first_steps import FirstStep


@dataclass(frozen=True)
class Rows:
    """Some rows of a frame.

    Slices of a frame would take a hundred times as long, and a large study has 100,000 cells.

    Attributes:
      columns: of the frame, as lists.
      places: of the rows in the frame.
    """

    columns: Mapping[str, list[Any]]
    places: Sequence[int]

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, name: str) -> list[Any]:
        """Return a column of these rows."""
        column = self.columns[name]
        return [column[place] for place in self.places]

    def where(self, flag: str) -> "Rows":
        """Return the rows in which a column of flags is true."""
        column = self.columns[flag]
        return Rows(self.columns, [place for place in self.places if column[place]])

    def by(self, name: str) -> "list[Rows]":
        """Return the rows of each value of a column, in the order of their first use."""
        places: dict[Any, list[int]] = {}
        for place, value in zip(self.places, self[name], strict=True):
            places.setdefault(value, []).append(place)
        return [Rows(self.columns, of_value) for of_value in places.values()]

    def values(self, style: str) -> list[Value | None]:
        """Return the values of a metric with this style; None without one."""
        bounds = self["bound"] if "bound" in self.columns else [""] * len(self)
        return values_of(self["value"], bounds, style)

    def known(self, style: str) -> list[Value]:
        """Return the values that are known."""
        return [value for value in self.values(style) if value is not None]


@dataclass(frozen=True)
class Group:
    """The runs of one cell.

    Attributes:
      rows: one for each run: variant, status, solved, value, …
      style: of the metric.
      candidates: the same of all settings that were tried; None if nothing was tuned.
    """

    rows: Rows
    style: str = "share"
    lower_is_better: bool = False
    candidates: Rows | None = None


def values_of(
    numbers: Sequence[int | float], bounds: Sequence[Any], style: str
) -> list[Value | None]:
    """Return the values that a frame has as numbers with bounds; None for NaN."""
    values: list[Value | None] = []
    for number_of_run, bound in zip(numbers, bounds, strict=True):
        is_known = number_of_run == number_of_run  # not NaN
        values.append(value_of(number_of_run, bound, style) if is_known else None)
    return values


def center(group: Group, show: str) -> Cell:
    """The center of a metric over the seeds of a variant, or of one variant for each task."""
    strata = [rows.known(group.style) for rows in group.rows.by("variant")]
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
        interval = Interval(float(first.step), float(last.step), "Kaplan–Meier")
        return Cell(f"{point} [{first}, {last}]", point.step, interval, count)
    text = number(point, group.style)
    if show == "mean":
        spread = statistics.deviation(_numbers(values))
        if spread is not None:
            text += f" ± {number(spread, group.style, exact=False)}"
        return Cell(text, point, count=count)
    of_numbers = _interval(group, [_numbers(stratum) for stratum in strata], show)
    return Cell(text + bracket(of_numbers, group.style), point, of_numbers, count)


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


def _numbers(values: Sequence[Value | None]) -> list[int | float]:
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
    if is_single and candidates is not None and len(set(candidates["candidate"])) > 1:
        chosen = candidates.where("is_chosen")
        # Choosing by validation varies with the seeds, too. If most seeds have the chosen setting
        # only, the interval takes it as given.
        if chosen["compared"] == chosen["all_runs"]:
            return choice_interval(candidates)
    if min(map(len, strata)) < statistics.BOOTSTRAP_FROM:
        return None
    return statistics.bootstrap(strata, statistics.interquartile_mean)


def choice_interval(candidates: Rows) -> Interval | None:
    """Return an interval of the interquartile mean that includes the choice.

    Each resample of the seeds chooses anew. None below ten seeds that every candidate has finished.
    """
    settings = []
    for rows in candidates.by("place"):
        seeds = zip(rows["seed"], rows["data_seed"], strict=True)
        numbers = zip(rows["validation_loss"], rows["value"], strict=True)
        of_setting = dict(zip(seeds, numbers, strict=True))
        settings.append({seed: pair for seed, pair in of_setting.items() if pair[1] == pair[1]})
    num_candidates = len(settings)
    shared = [seed for seed in settings[0] if all(seed in runs for runs in settings)]
    if len(shared) < statistics.BOOTSTRAP_FROM:
        return None
    # A seed is resampled as a whole: its losses, which choose, and its outcomes.
    pairs = np.array([[runs[seed] for runs in settings] for seed in shared])  # [n, K, 2]
    of_seeds = np.concatenate([pairs[..., 0], pairs[..., 1]], axis=1)

    def of_the_best(sample: NDArray[np.float64]) -> NDArray[np.float64] | np.float64:
        losses, outcomes = sample[..., :num_candidates], sample[..., num_candidates:]
        best = losses.mean(axis=-2).argmin(axis=-1)
        of_best = np.take_along_axis(outcomes, best[..., None, None], axis=-1)
        return statistics.interquartile_mean(of_best[..., 0])

    return statistics.bootstrap([of_seeds], of_the_best)  # [n, 2 K]


def _every_seed(group: Group) -> Cell:
    """The value of every run. A run without a value has a dash, so that none is left out."""
    texts = [number(value, group.style) for value in group.rows.values(group.style)]
    return Cell(" ".join(texts) or DASH, count=len(texts))


def _best(group: Group) -> Cell:
    """The best test value over all seeds and all settings that were tried."""
    rows = group.rows if group.candidates is None else group.candidates
    values: list[Any] = rows.known(group.style)
    choose = min if group.lower_is_better else max
    value = choose(values, default=None)
    unrounded = value.length if isinstance(value, Limit) else value
    return Cell(number(value, group.style), unrounded, count=len(values))


def _count(group: Group) -> Cell:
    """The number of runs that have the value 1, of the known ones.

    If the outcome of a finished run is known, a run that diverged counts, too: finished runs may
    have been evaluated there later, and a diverged run cannot be.
    """
    successes, total = 0, 0
    variants = group.rows.by("variant")
    for rows in variants:
        known = rows.known(group.style)
        if known:
            outcomes = zip(rows.values(group.style), rows["status"], strict=True)
            successes += sum(value == 1 for value in known)
            total += sum(v is not None or status == "diverged" for v, status in outcomes)
    if not total:
        return Cell(DASH)
    # The rates of several tasks are not one rate, so they have no interval.
    interval = statistics.wilson(successes, total) if len(variants) == 1 else None
    return Cell(f"{successes}/{total}{bracket(interval)}", successes, interval, total)


def _solved(group: Group) -> Cell:
    """The number of runs that are solved, and of runs that did not finish."""
    statuses = group.rows["status"]
    count = sum(group.rows["solved"])
    text = f"{count}/{len(statuses)}"
    are_texts = [any(rows["is_text"]) for rows in group.rows.by("variant")]
    if statuses and not count and not any(are_texts):
        text += " not solved"
    if statuses and all(are_texts):
        text = DASH
    for status in ("diverged", "failed"):
        if status in statuses:
            text += f", {statuses.count(status)} {status}"
    return Cell(text, count, count=len(statuses))


def _tied(group: Group) -> Cell:
    """The range of a metric's median over the settings that validation does not separate."""
    if group.candidates is None:
        return Cell(DASH)
    tied = group.candidates.where("is_tied").by("place")
    medians = _numbers([middle(rows.known(group.style), "median") for rows in tied])
    if not medians:
        return Cell(DASH)
    low, high = min(medians), max(medians)
    amount = f"{len(tied)} of {len(set(group.candidates['candidate']))}"
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
    "tied": _tied,
}
