"""Ranks of the variants of a study over its tasks."""

from dataclasses import dataclass

import numpy as np

from pe_lab.results import comparable, significance, statistics, summary
from pe_lab.results.significance import Ranks
from pe_lab.results.statistics import Array, Interval
from pe_lab.results.study import Study
from pe_lab.runs.analysis_spec import SEPARATOR


@dataclass(frozen=True)
class Ranking:
    """Ranks of variants over tasks.

    Attributes:
      names: of the variants, without the label of the task.
      tasks: that some seed of every variant solved.
      of: number of tasks of the study.
      ranks: None if too few tasks are left.
    """

    names: tuple[str, ...]
    tasks: tuple[str, ...]
    of: int
    ranks: Ranks | None


@dataclass(frozen=True)
class MeanRank:
    """Mean rank of a variant over the tasks of a study.

    Attributes:
      mean: 1 is best.
      interval: percentile bootstrap over seeds, within each task. It holds for these tasks.
    """

    mean: float
    interval: Interval


def ranking(study: Study) -> Ranking:
    """Rank the variants by median exact match at the point of extrapolation.

    A variant counts if every task has it and nothing sets it apart. A task counts if all of these
    variants solved it.
    """
    tasks = list(dict.fromkeys(study.variants["task_name"]))
    ranked = _comparable(study)
    values = _values(study)
    solved = []
    for task in tasks:
        names = [of_tasks[task] for of_tasks in ranked.values()]
        if names and all(study.by_name[name]["solved"] for name in names):
            solved.append(task)
    scores = []
    for task in solved:
        medians = [statistics.median(values[of_tasks[task]]) for of_tasks in ranked.values()]
        scores.append([median for median in medians if median is not None])
    # Friedman's test has no missing values.
    is_complete = all(len(row) == len(ranked) for row in scores)
    ranks = significance.ranks(scores) if is_complete else None
    return Ranking(tuple(ranked), tuple(solved), len(tasks), ranks)


def mean_ranks(study: Study) -> dict[str, MeanRank]:
    """Rank the variants by interquartile mean exact match at the point of extrapolation.

    A variant has a mean rank if every task has it, nothing sets it apart, it has ten seeds, and at
    least half of them solved each task. Empty with fewer than two such variants.
    """
    from scipy import stats

    tasks = dict.fromkeys(study.variants["task_name"])
    all_values = _values(study)
    values = {}
    for name, of_tasks in _comparable(study).items():
        variants = [of_tasks[task] for task in tasks]
        of_name = [all_values[variant] for variant in variants]
        fewest = min(map(len, of_name))
        is_solved_by_all = all(is_solved(study, variant) for variant in variants)
        if is_solved_by_all and fewest >= statistics.BOOTSTRAP_FROM:
            values[name] = of_name
    if len(values) < 2:
        return {}
    generator = np.random.default_rng(0)
    scores = []
    for of_name in values.values():
        scores.append([_resampled(of_task, generator) for of_task in of_name])
    ranks = stats.rankdata(-np.asarray(scores), axis=0)  # [variants, tasks, 1 + resamples]
    means = ranks.mean(axis=1)
    outside = 50 * (1 - statistics.CONFIDENCE)  # percent at each end
    of_resamples = means[:, 1:]
    lows, highs = np.percentile(of_resamples, [outside, 100 - outside], axis=1)
    mean_ranks = {}
    for index, name in enumerate(values):
        interval = Interval(float(lows[index]), float(highs[index]), "percentile")
        mean_ranks[name] = MeanRank(float(means[index, 0]), interval)
    return mean_ranks


def is_solved(study: Study, name: str) -> bool:
    """Return whether at least half of the seeds of a variant are solved."""
    row = study.by_name[name]
    return bool(row["runs"]) and 2 * row["solved"] >= row["runs"]


def _resampled(values: list[float], generator: np.random.Generator) -> Array:
    """The interquartile mean of values, and of each of their bootstrap resamples."""
    size = (statistics.RESAMPLES, len(values))
    resamples = generator.choice(values, size)
    of_resamples = np.asarray(statistics.interquartile_mean(resamples))
    # The first one is of the values themselves, and gives the rank. The others give its interval.
    return np.append(statistics.interquartile_mean(values), of_resamples)


def by_name(study: Study) -> dict[str, dict[str, str]]:
    """Return the variants by their names without the label of the task, and by task."""
    variants: dict[str, dict[str, str]] = {}
    for full_name, row in study.by_name.items():
        labels = study.labels(full_name)
        labels.pop("task", None)
        name = SEPARATOR.join(filter(None, labels.values()))
        variants.setdefault(name, {})[row["task_name"]] = full_name
    return variants


def _comparable(study: Study) -> dict[str, dict[str, str]]:
    """Return the variants that every task has and that nothing sets apart."""
    point = study.spec.extrapolation.point
    tasks = set(study.variants["task_name"])
    variants = {}
    for name, of_tasks in by_name(study).items():
        if of_tasks.keys() != tasks:
            continue  # ranks over other tasks would be other numbers
        if not any(comparable.apart(study, variant, point) for variant in of_tasks.values()):
            variants[name] = of_tasks
    return variants


def _values(study: Study) -> dict[str, list[float]]:
    """Return exact match at the point of extrapolation of each variant's runs that have it."""
    point = study.spec.extrapolation.point
    known = summary.values_at(study, study.cases, "exact_match", point).dropna(subset="value")
    values = known.groupby("variant", sort=False)["value"].agg(list)
    return {name: values.get(name, []) for name in study.by_name}
