"""Lookups of a study's numbers for pages of prose.

Each lookup returns text as the tables show it: the declared center of a variant, the value of a
named seed, a count, or a setting that all runs share. What has no such number is an error.
"""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from docs.build import commits, shared_runs
from docs.build.rounding import at_most
from pe_lab.results import (
    cells,
    compare,
    formats,
    results,
    selection,
    tables,
    views,
)
from pe_lab.results.compare import Comparison
from pe_lab.results.results import Variant
from pe_lab.runs.errors import UserError, unknown

UNSOLVED, REVEALS = r"\*", "†"


class Numbers:
    """Lookups in one study. All of them return text as the tables show it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.results = results.load(folder)
        self.chosen = selection.chosen(self.results)

    @functools.cached_property
    def center_name(self) -> str:
        """Median, or interquartile mean from ten seeds a variant."""
        return {"iqm": "interquartile mean"}.get(views.center(self.chosen), "median")

    def variant(self, name: str) -> Variant:
        """Raises UserError with near names if the study has no such variant."""
        by_name = {v.name: v for v in self.chosen.variants}
        if name not in by_name:
            raise unknown(self.chosen.name, name, by_name)
        return by_name[name]

    def center(self, name: str, length: int, offset: int = 0) -> str:
        """Declared center of exact match over seeds.

        Marked where no seed has solved the training lengths, and where the model knows the
        target length.
        """
        variant = self.variant(name)
        value = self._center(name, length, offset)
        known = REVEALS if variant.reveals_target_length else ""
        return cells.number(value) + ("" if variant.solved else UNSOLVED) + known

    def centers(self, names: Sequence[str], length: int, offset: int = 0) -> str:
        """Centers of several variants, in this order."""
        return listed([self.center(name, length, offset) for name in names])

    def center_range(self, names: Sequence[str], length: int, offset: int = 0) -> str:
        """Lowest and highest center of several variants."""
        ends = sorted(names, key=lambda name: self._center(name, length, offset))
        low, high = (self.center(name, length, offset) for name in (ends[0], ends[-1]))
        return low if low == high else f"{low} to {high}"

    def _center(self, name: str, length: int, offset: int) -> float:
        values = [v for v in self.variant(name).values(length, offset) if v is not None]
        value = cells.middle(values, views.center(self.chosen))
        if not isinstance(value, int | float):
            raise UserError(f"{self.chosen.name}: {name} has no number at length {length}.")
        return float(value)

    def seed(self, name: str, seed: int, length: int, offset: int = 0) -> str:
        """Exact match of one seed."""
        runs = [run for run in self.variant(name).measured if run.seed[0] == seed]
        if len(runs) != 1:
            raise UserError(f"{self.chosen.name}: {name} has {len(runs)} runs of seed {seed}.")
        return cells.number(runs[0].at(length, offset))

    def each_seed(self, name: str, length: int, offset: int = 0) -> str:
        """Exact match of every seed, in the order of seeds."""
        runs = sorted(self.variant(name).measured, key=lambda run: run.seed)
        return listed([cells.number(run.at(length, offset)) for run in runs])

    def solved(self, *names: str) -> str:
        """Seeds that solve the training lengths, of all seeds of these variants."""
        variants = [self.variant(name) for name in names]
        return f"{sum(v.solved for v in variants)} of {sum(len(v.runs) for v in variants)}"

    def extrapolates(self, *names: str) -> str:
        """Seeds that extrapolate, of those with a known outcome."""
        extrapolation = self.chosen.spec.extrapolation
        counts = [compare.extrapolation_counts(self.variant(name), extrapolation) for name in names]
        return f"{sum(c.extrapolating for c in counts)} of {sum(c.count for c in counts)}"

    def others(self, *names: str) -> list[str]:
        """Names of all other variants."""
        for name in names:
            self.variant(name)
        return [v.name for v in self.chosen.variants if v.name not in names]

    def chosen_setting(self, name: str) -> str:
        """Chosen values on the tuned axes."""
        return selection.setting(self.variant(name), self.results.spec.tuned)

    def by_setting(self, name: str, length: int) -> str:
        """Center of exact match for each tuned setting, over the seeds that all of them have."""
        texts = []
        for candidate in self.variant(name).candidates:
            values = [value for value in candidate.values(length, 0) if value is not None]
            center = cells.number(cells.middle(values, "median"))
            texts.append(f"{center} at {selection.setting(candidate, self.results.spec.tuned)}")
        return listed(texts)

    def tied(self, name: str) -> str:
        """Tuned settings that as many seeds solve as the chosen one, of all settings."""
        variant = self.variant(name)
        return f"{len(selection.tied(variant))} of {len(variant.candidates)}"

    def setting(self, path: str, name: str | None = None) -> str:
        """Value of a config key, the same in all runs, or in all runs of a variant."""
        variants = self.chosen.variants if name is None else [self.variant(name)]
        values = {str(_walk(run["config"], path)) for v in variants for run in v.runs}
        if len(values) != 1:
            raise UserError(f"{self.chosen.name}: {path} has {len(values)} values, not one.")
        return values.pop()

    def parameters(self, name: str) -> str:
        """Parameters of a model."""
        return self.budget(name, "parameters")

    def budget(self, name: str, key: str) -> str:
        """Entry of a variant's cost that is the same in all its runs."""
        values = {run["cost"][key] for run in self.variant(name).finished}
        if len(values) != 1:
            raise UserError(f"{self.chosen.name}: {name} has {len(values)} values of {key}.")
        return f"{values.pop():,}"

    def longest_position(self, name: str) -> str:
        """Largest position of training, which is also the longest distance of a causal model."""
        (position,) = {run["exposure"]["max_position"] for run in self.variant(name).finished}
        return str(position)

    def scale_ratio(self, name: str) -> str:
        """Center of rms(embedding) / rms(token) before training."""
        ratios = [run["scale_ratio"]["initial"][0] for run in self.variant(name).finished]
        return cells.number(cells.middle(ratios, views.center(self.chosen)))

    def strings(self, symbols: int, name: str) -> str:
        """Number of strings over so many symbols, up to the longest length of training."""
        return str(sum(symbols**n for n in range(1, self.variant(name).max_length + 1)))

    def difference(self, a: str, b: str) -> str:
        """Mean difference a - b of a contrast, its interval, and p if the seeds can decide it."""
        contrast = self._contrast(a, b)
        text = cells.signed(contrast.difference)
        interval = contrast.interval
        if interval is not None:
            text += f" [{cells.signed(interval.low)}, {cells.signed(interval.high)}]"
        return text + (_p(contrast.holm) if contrast.decides else "")

    def counts(self, a: str, b: str) -> str:
        """Seeds of a and of b that extrapolate, and p if they can decide the contrast."""
        contrast = self._contrast(a, b)
        text = " against ".join(map(str, contrast.counts))
        return text + (_p(contrast.count_holm) if contrast.count_decides else "")

    def _contrast(self, a: str, b: str) -> Comparison:
        """Raises UserError if the study does not declare it."""
        pairs = {(c.a.name, c.b.name): c for c in compare.contrasts(self.results)}
        if (a, b) not in pairs:
            raise UserError(f"{self.chosen.name} declares no contrast of {a} against {b}.")
        return pairs[a, b]

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

    @property
    def table(self) -> str:
        """First table of the study."""
        return formats.markdown(tables.of(self.results)[0])

    def table_titled(self, title: str) -> str:
        """The table of the study with this title."""
        by_title = {table.title: table for table in tables.of(self.results)}
        if title not in by_title:
            raise unknown(self.chosen.name, title, by_title)
        return formats.markdown(by_title[title])

    def table_at(self, *lengths: int) -> str:
        """First table of the study, with these lengths only."""
        table = tables.of(self.results)[0]
        names = [name.removeprefix("→") for name in table.header]
        wanted = [self.length(length) for length in lengths]
        kept = [i for i, name in enumerate(names) if name in wanted or not name.isdecimal()]
        rows = tuple(tuple(row[i] for i in kept) for row in table.rows)
        header = tuple(table.header[i] for i in kept)
        return formats.markdown(dataclasses.replace(table, header=header, rows=rows))

    @property
    def runs(self) -> str:
        """Number of runs."""
        return str(len({run["run_id"] for v in self.results.variants for run in v.runs}))

    @property
    def variants(self) -> str:
        """Number of variants. The settings of a tuned one count once."""
        return str(len(self.chosen.variants))

    @property
    def seeds(self) -> str:
        """Seeds of each variant, with the chosen setting."""
        counts = {len(v.runs) for v in self.chosen.variants}
        if len(counts) != 1:
            raise UserError(f"{self.results.name}: variants have different numbers of seeds.")
        return str(counts.pop())

    @property
    def contrasts(self) -> str:
        """Number of contrasts between variants that the study declares."""
        return str(len(compare.contrasts(self.results)))

    @property
    def threshold(self) -> str:
        """Exact match from which a solved run extrapolates."""
        return f"{self.chosen.spec.extrapolation.threshold:g}"

    @property
    def solved_threshold(self) -> str:
        """Validation exact match from which a task is solved."""
        values = {
            run["exposure"]["solved_threshold"] for v in self.results.variants for run in v.finished
        }
        (threshold,) = values
        return f"{threshold:g}"

    @property
    def commit(self) -> str:
        """Commit of all runs, seven digits."""
        (commit,) = {
            run["provenance"]["commit"] for v in self.results.variants for run in v.finished
        }
        return str(commit[:7])

    @property
    def commits(self) -> str:
        """Commits of all runs with their numbers of runs; lost ones are marked."""
        return listed(commits.described(self.results.records))

    def shared_runs(self, *studies: "Numbers") -> str:
        """Number of this study's runs that another study has with different exact match."""
        return str(len(self._gaps(studies)))

    def largest_gap(self, *studies: "Numbers") -> str:
        """Upper bound, two digits, on how far exact match differs between copies of one run."""
        return at_most(max(self._gaps(studies).values()), 2)

    def _gaps(self, studies: Sequence["Numbers"]) -> dict[str, float]:
        return shared_runs.gaps(self.results, [study.results for study in studies])


def _p(p: float | None) -> str:
    text = cells.p_value(p)
    return f" (p {text})" if text.startswith("<") else f" (p = {text})"


def listed(texts: Sequence[str]) -> str:
    """Return "a, b and c"."""
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def _walk(config: Mapping[str, Any], path: str) -> Any:
    value: Any = config
    for key in path.split("."):
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value
