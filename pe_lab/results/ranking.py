"""Ranks of the variants of a study over its tasks."""

from dataclasses import dataclass

from pe_lab.results import comparable, significance, statistics, summary, variant_names
from pe_lab.results.significance import Ranks
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import SEPARATOR


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


def ranking(study: Study) -> Ranking:
    """Rank the variants by median exact match at the point of extrapolation.

    A variant counts if every task has it and nothing sets it apart. A task counts if all of these
    variants solved it.
    """
    tasks = task_names(study)
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


def task_names(study: Study) -> list[str]:
    """Return the names of the tasks of variants that have a record."""
    return list(dict.fromkeys(filter(None, study.variants["task_name"])))


def _by_name(study: Study) -> dict[str, dict[str, str]]:
    """Return the variants by their names without the label of the task, and by task."""
    variants: dict[str, dict[str, str]] = {}
    for full_name, row in study.by_name.items():
        labels = variant_names.labels(study, full_name)
        labels.pop("task", None)
        name = SEPARATOR.join(filter(None, labels.values()))
        variants.setdefault(name, {})[row["task_name"]] = full_name
    return variants


def _comparable(study: Study) -> dict[str, dict[str, str]]:
    """Return the variants that every task has and that nothing sets apart."""
    point = study.spec.extrapolation.point
    tasks = set(task_names(study))
    variants = {}
    for name, of_tasks in _by_name(study).items():
        if of_tasks.keys() != tasks:
            continue  # ranks over other tasks would be other numbers
        if not any(comparable.apart(study, variant, point) for variant in of_tasks.values()):
            variants[name] = of_tasks
    return variants


def _values(study: Study) -> dict[str, list[float]]:
    """Return exact match at the point of extrapolation of each variant's runs that have it."""
    point = study.spec.extrapolation.point
    # A run without a number is left out; if a variant has none, there are no ranks.
    known = summary.values_at(study, study.cases, "exact_match", point).dropna(subset="value")
    values = known.groupby("variant", sort=False)["value"].agg(list)
    return {name: values.get(name, []) for name in study.by_name}
