"""Ranks of the variants of a study over its tasks."""

from dataclasses import dataclass

import numpy as np

from pe_lab.results import compare, measured, significance
from pe_lab.results.results import Results, Variant
from pe_lab.results.significance import Ranks
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


def ranking(results: Results) -> Ranking:
    """Rank the variants by median exact match at the point of extrapolation.

    A variant counts if every task has it and nothing sets it apart. A task counts if all of these
    variants solved it.
    """
    point = results.spec.extrapolation.point
    by_name: dict[str, dict[str, Variant]] = {}
    for variant in results.variants:
        labels = [text for axis, text in variant.labels.items() if axis != "task" and text]
        by_name.setdefault(SEPARATOR.join(labels), {})[variant.task] = variant
    tasks = dict.fromkeys(variant.task for variant in results.variants)
    ranked = {}
    for name, of_tasks in by_name.items():
        is_apart = any(compare.apart(results, variant, point) for variant in of_tasks.values())
        if of_tasks.keys() == tasks.keys() and not is_apart:
            ranked[name] = of_tasks
    solved = []
    for task in tasks:
        if ranked and all(of_tasks[task].solved for of_tasks in ranked.values()):
            solved.append(task)
    scores = [[_median(of_tasks[task], point) for of_tasks in ranked.values()] for task in solved]
    known = [[score for score in row if score is not None] for row in scores]
    ranks = significance.ranks(known) if known == scores else None
    return Ranking(tuple(ranked), tuple(solved), len(tasks), ranks)


def _median(variant: Variant, point: MetricPoint) -> float | None:
    runs = [run for run in variant.measured if run.finished]
    values = [measured.at_point(run, "exact_match", point) for run in runs]
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None
