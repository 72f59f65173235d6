"""Ranks of the variants of a study over its tasks."""

from dataclasses import dataclass

import numpy as np

from pe_lab.results import comparable, measured, significance, statistics
from pe_lab.results.results import Results, Variant
from pe_lab.results.significance import Ranks
from pe_lab.results.statistics import Array, Interval
from pe_lab.runs.analysis_spec import SEPARATOR, MetricPoint


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


def ranking(results: Results) -> Ranking:
    """Rank the variants by median exact match at the point of extrapolation.

    A variant counts if every task has it and nothing sets it apart. A task counts if all of these
    variants solved it.
    """
    point = results.spec.extrapolation.point
    tasks = list(dict.fromkeys(variant.task for variant in results.variants))
    ranked = _comparable(results)
    solved = []
    for task in tasks:
        if ranked and all(of_tasks[task].solved for of_tasks in ranked.values()):
            solved.append(task)
    scores = []
    for task in solved:
        medians = []
        for of_tasks in ranked.values():
            values = _values(of_tasks[task], point)
            medians.append(statistics.median(values))
        scores.append([median for median in medians if median is not None])
    # Friedman's test has no missing values.
    is_complete = all(len(row) == len(ranked) for row in scores)
    ranks = significance.ranks(scores) if is_complete else None
    return Ranking(tuple(ranked), tuple(solved), len(tasks), ranks)


def mean_ranks(results: Results) -> dict[str, MeanRank]:
    """Rank the variants by interquartile mean exact match at the point of extrapolation.

    A variant has a mean rank if every task has it, nothing sets it apart, it has ten seeds, and at
    least half of them solved each task. Empty with fewer than two such variants.
    """
    from scipy import stats

    point = results.spec.extrapolation.point
    tasks = dict.fromkeys(variant.task for variant in results.variants)
    values = {}
    for name, of_tasks in _comparable(results).items():
        variants = [of_tasks[task] for task in tasks]
        of_name = [_values(variant, point) for variant in variants]
        fewest = min(map(len, of_name))
        if all(map(is_solved, variants)) and fewest >= statistics.BOOTSTRAP_FROM:
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


def is_solved(variant: Variant) -> bool:
    """Return whether at least half of the seeds of a variant are solved."""
    if not variant.runs:
        return False
    return 2 * variant.solved >= len(variant.runs)


def _resampled(values: list[float], generator: np.random.Generator) -> Array:
    """The interquartile mean of values, and of each of their bootstrap resamples."""
    size = (statistics.RESAMPLES, len(values))
    resamples = generator.choice(values, size)
    of_resamples = np.asarray(statistics.interquartile_mean(resamples))
    # The first one is of the values themselves, and gives the rank. The others give its interval.
    return np.append(statistics.interquartile_mean(values), of_resamples)


def by_name(results: Results) -> dict[str, dict[str, Variant]]:
    """Return the variants by their names without the label of the task, and by task."""
    variants: dict[str, dict[str, Variant]] = {}
    for variant in results.variants:
        labels = dict(variant.labels)
        labels.pop("task", None)
        name = SEPARATOR.join(filter(None, labels.values()))
        of_tasks = variants.setdefault(name, {})
        of_tasks[variant.task] = variant
    return variants


def _comparable(results: Results) -> dict[str, dict[str, Variant]]:
    """Return the variants that every task has and that nothing sets apart."""
    point = results.spec.extrapolation.point
    tasks = {variant.task for variant in results.variants}
    variants = {}
    for name, of_tasks in by_name(results).items():
        if of_tasks.keys() != tasks:
            continue  # ranks over other tasks would be other numbers
        reasons = [comparable.apart(results, variant, point) for variant in of_tasks.values()]
        if not any(reasons):
            variants[name] = of_tasks
    return variants


def _values(variant: Variant, point: MetricPoint) -> list[float]:
    """Return exact match at a point for each finished run that has it."""
    runs = [run for run in variant.measured if run.finished]
    values = [measured.at_point(run, "exact_match", point) for run in runs]
    return [value for value in values if value is not None]
