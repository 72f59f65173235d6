"""Numbers of a study as text for prose, as its tables write them.

    found = Prose(frame.read("results/published/quickstart"))
    f"RoPE reaches {found.center('rope', 32)}, and {found.solved('rope')} seeds solve the task."

Numbers at a length are of exact match, or of the bits of a text whose record states its size.

Each method returns a text: the declared center of a variant, the values of its seeds, a count, a
contrast, or a setting that all runs share. What has no such number is an error.
"""

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import pandas as pd

from pe_lab.results import (
    compare,
    formats,
    metrics,
    notes,
    selection,
    standard_tables,
    statistics,
    summary,
    table_summaries,
    tables,
)
from pe_lab.results.compare import Comparison, Counts
from pe_lab.results.formats import decimals, difference, number, p_value
from pe_lab.results.study import Study
from pe_lab.runs import paths
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec

_WHOLE = ("seed", "data_seed", "parameters", "max_position")


@dataclasses.dataclass(frozen=True)
class Prose:
    """The numbers of one study as text."""

    study: Study

    @functools.cached_property
    def chosen(self) -> Study:
        """The study at the settings that validation chose."""
        return selection.choose(self.study)

    @functools.cached_property
    def _show(self) -> str:
        return standard_tables.center(self.chosen)

    @property
    def center_name(self) -> str:
        """Median, or interquartile mean from ten seeds a variant."""
        return "interquartile mean" if self._show == "iqm" else "median"

    def _row(self, name: str) -> dict[str, Any]:
        """Raises UserError with near names if the study has no such variant."""
        if name not in self.chosen.by_name:
            raise unknown(self.chosen.name, name, self.chosen.by_name)
        return self.chosen.by_name[name]

    def _cases(self, *names: str) -> pd.DataFrame:
        """Return the runs of some variants; of all variants without names."""
        for name in names:
            self._row(name)
        cases = self.chosen.cases
        return cases[cases["variant"].isin(names)] if names else cases

    def _only(self, values: Iterable[object], what: str) -> Any:
        """Return the only value. Raises UserError if there are several."""
        different = set(values)
        if len(different) != 1:
            raise UserError(f"{self.chosen.name}: {what} has {len(different)} values, not one.")
        return different.pop()

    @property
    def _metric(self) -> str:
        # Pages of older texts cite exact match.
        return self.chosen.headline if self.chosen.is_of_text else "exact_match"

    def _number(self, value: float | None) -> str:
        return number(value, metrics.BY_NAME[self._metric].style)

    def _cell(self, name: str, length: int, offset: int = 0, show: str = "") -> formats.Cell:
        """Return the cell of the metric at a length, as in the tables of the study."""
        point = MetricPoint(length=length, offset=offset)
        metric = MetricSpec(self._metric, point, show or self._show)
        return summary.of_metric(self.chosen, self._cases(name), metric).of(name)

    def _center(self, name: str, length: int, offset: int) -> float:
        value = self._cell(name, length, offset).value
        if not isinstance(value, int | float):
            raise self._no_number(name, length)
        return float(value)

    def _no_number(self, name: str, length: int) -> UserError:
        return UserError(f"{self.chosen.name}: {name} has no number at length {length}.")

    def center(self, name: str, length: int, offset: int = 0) -> str:
        """Declared center over seeds.

        Marked where no seed has solved the training lengths, and where the model knows the
        target length.
        """
        row = self._row(name)
        signs = "" if row["solved"] or self.chosen.is_of_text else "\\" + notes.UNSOLVED
        signs += notes.REVEALS if row["reveals_target_length"] else ""
        return self._number(self._center(name, length, offset)) + signs

    def centers(self, names: Sequence[str], length: int, offset: int = 0) -> str:
        """Centers of several variants, in this order."""
        return listed([self.center(name, length, offset) for name in names])

    def center_range(self, names: Sequence[str], length: int, offset: int = 0) -> str:
        """Lowest and highest center of several variants."""
        ends = sorted(names, key=lambda name: self._center(name, length, offset))
        low, high = (self.center(name, length, offset) for name in (ends[0], ends[-1]))
        return low if low == high else f"{low} to {high}"

    def each_seed(self, name: str, length: int, offset: int = 0) -> str:
        """Number of every seed, in the order of seeds."""
        texts = self._cell(name, length, offset, show="seeds").text.split()
        if not set(texts) - {formats.DASH}:
            raise self._no_number(name, length)
        return listed(texts)

    def solved(self, *names: str) -> str:
        """Seeds that solve the training lengths, of all seeds of these variants."""
        self._check_task()
        cases = self._cases(*names)
        if not names:  # a run has a case for each override, too
            cases = cases[cases["evaluation"] == 0]
        return f"{cases['solved'].sum()} of {len(cases)}"

    def extrapolates(self, *names: str) -> str:
        """Seeds that extrapolate, of those with a known outcome."""
        counts = self._counts(names)
        return f"{counts.extrapolating} of {counts.count}"

    def share(self, *names: str) -> str:
        """Seeds that extrapolate, of those with a known outcome, with Wilson's interval."""
        return self.extrapolates(*names) + formats.bracket(self._counts(names).interval)

    def _check_task(self) -> None:
        if self.chosen.is_of_text:
            raise UserError(f"{self.chosen.name} is of a text, which has nothing to solve.")

    def _counts(self, names: Sequence[str]) -> Counts:
        self._check_task()
        for name in names:
            self._row(name)
        counts = compare.extrapolation_counts(self.chosen, names).values()
        return Counts(sum(c.extrapolating for c in counts), sum(c.count for c in counts))

    def others(self, *names: str) -> list[str]:
        """Names of all other variants."""
        self._cases(*names)
        return [name for name in self.chosen.by_name if name not in names]

    def by_setting(self, name: str, length: int) -> str:
        """Median at each tuned setting, over the seeds that all of them have."""
        candidates, settings = self.chosen.candidates, selection.settings_of(self.chosen, name)
        if candidates is None or settings.empty:
            raise UserError(f"{self.chosen.name} has no tuned settings of {name!r}.")
        texts, medians = [], []
        for setting, candidate in zip(settings["setting"], settings["candidate"], strict=True):
            cases = candidates[candidates["candidate"] == candidate]
            point = MetricPoint(length=length)
            values = summary.values_at(self.chosen, cases, self._metric, point)["value"]
            medians.append(statistics.median([*values.dropna()]))
            texts.append(f"{self._number(medians[-1])} at {setting}")
        if all(median is None for median in medians):
            raise self._no_number(name, length)
        return listed(texts)

    def setting(self, path: str, *names: str) -> str:
        """Value of a config key or a column in _WHOLE, the same in these variants, or in all."""
        cases = self._cases(*names)
        if path in _WHOLE:
            return f"{self._only(cases[path].dropna(), path):,.0f}"
        configs = {id(config): config for config in cases["config"]}
        values = (str(paths.value_at(config, path)) for config in configs.values())
        return str(self._only(values, path))

    def difference(self, a: str, b: str, at: int | float | None = None) -> str:
        """Mean difference a - b of a contrast, its interval, and p if the seeds can decide it.

        Args:
          at: the multiple of the training length, where a study compares a and b at several.
        """
        contrast = self._contrast(a, b, at)
        text = difference(contrast.difference, contrast.interval, _decimals(contrast))
        return text + (_p(contrast.holm) if contrast.decides else "")

    def contrast(self, a: str, b: str, at: int | float | None = None) -> dict[str, object]:
        """Means, interval and text of a contrast, for a page that judges it.

        The means and the interval are not rounded. The text is the reason if there is no interval.
        """
        contrast = self._contrast(a, b, at)
        interval = contrast.interval
        reason = contrast.reason or f"fewer than {statistics.EXACT_FROM} seeds"
        digits = _decimals(contrast)
        return {
            "text": difference(contrast.difference, interval, digits) if interval else reason,
            "interval": [float(interval.low), float(interval.high)] if interval else None,
            "means": [*contrast.means],
        }

    def counts(self, a: str, b: str) -> str:
        """Seeds of a and of b that extrapolate, and p if they can decide the contrast."""
        self._check_task()
        contrast = self._contrast(a, b)
        text = " against ".join(map(str, contrast.counts))
        return text + (_p(contrast.count_holm) if contrast.count_decides else "")

    @functools.cached_property
    def _contrasts(self) -> list[Comparison]:
        return compare.contrasts(self.chosen)

    def _contrast(self, a: str, b: str, at: int | float | None = None) -> Comparison:
        """Raises UserError if the study does not declare it.

        The last one counts: a config names the equivalence of a pair after its difference.
        """
        pairs = [contrast for contrast in self._contrasts if (contrast.a, contrast.b) == (a, b)]
        matches = [contrast for contrast in pairs if at in (None, contrast.metric.point.at)]
        if not matches:
            raise UserError(f"{self.chosen.name} declares no contrast of {a} against {b}.")
        return matches[-1]

    def length(self, length: int) -> str:
        """A measured length."""
        return self._measured("lengths", length, self.chosen.lengths)

    def offset(self, offset: int) -> str:
        """A measured offset."""
        return self._measured("offsets", offset, self.chosen.offsets)

    def _measured(self, name: str, value: int, measured: Sequence[int]) -> str:
        if value not in measured:
            raise unknown(f"{self.chosen.name}, {name}:", str(value), map(str, measured))
        return str(value)

    @functools.cached_property
    def _tables(self) -> list[formats.Table]:
        return tables.of(self.study)

    def table(self, *lengths: int) -> str:
        """First table of the study; of its lengths only these, if any are named."""
        table = self._tables[0]
        if lengths:
            wanted = {self.length(length) for length in lengths}
            others = {*map(str, self.chosen.lengths)} - wanted
            names = [name.removeprefix("→") for name in table.header]
            columns = [i for i, name in enumerate(names) if name not in others]
            header = tuple(table.header[i] for i in columns)
            rows = tuple(tuple(row[i] for i in columns) for row in table.rows)
            table = dataclasses.replace(table, header=header, rows=rows)
        return formats.markdown(table)

    def table_titled(self, title: str) -> str:
        """The table of the study with this title."""
        by_title = {table.title: table for table in self._tables}
        if title not in by_title:
            raise unknown(self.chosen.name, title, by_title)
        return formats.markdown(by_title[title])

    @property
    def runs(self) -> str:
        """Number of runs."""
        return str(self.study.cases["run_id"].nunique())

    @property
    def variants(self) -> str:
        """Number of variants. The settings of a tuned one and the points of a grid count once."""
        return str(len(table_summaries.without_grids(self.chosen).variants))

    @property
    def seeds(self) -> str:
        """Seeds of each variant, with the chosen setting."""
        return str(self._only(self.chosen.variants["runs"], "the number of seeds"))

    @property
    def contrasts(self) -> str:
        """Number of contrasts between variants that the study declares."""
        return str(len(self._contrasts))

    @property
    def threshold(self) -> str:
        """Exact match from which a solved run extrapolates."""
        return f"{self.chosen.spec.extrapolation.threshold:g}"

    @property
    def solved_threshold(self) -> str:
        """Validation exact match from which a task is solved."""
        thresholds = self.study.cases["solved_threshold"].dropna()
        return f"{self._only(thresholds, 'the threshold of solved'):g}"

    @property
    def commit(self) -> str:
        """Commit of all runs, seven digits."""
        finished = self.study.cases[self.study.cases["status"] == "finished"]
        return str(self._only(finished["commit"], "the commit"))[:7]


def _decimals(contrast: Comparison) -> int:
    return decimals(metrics.BY_NAME[contrast.metric.name].style)


def _p(p: float | None) -> str:
    text = p_value(p)
    return f" (p {text})" if text.startswith("<") else f" (p = {text})"


def listed(texts: Iterable[str]) -> str:
    """Return "a, b and c"."""
    parts = list(texts)
    return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
