"""Chance levels of the tasks of a study: the scores of a predictor that does not see the prompt."""

import pandas as pd

from pe_lab.results.study import Study

Levels = dict[tuple[str, int, str], float]  # by task, length and metric


def levels(study: Study) -> Levels:
    """Return the highest chance level of the finished runs of each task, at each length.

    Tasks have their full labels here, with all arguments.
    """
    runs = study.cases.loc[_is_finished(study), "run"].unique()
    of_runs = study.measured_chance[study.measured_chance["run"].isin(runs)]
    highest = of_runs.groupby(["task_label", "length", "metric"], observed=True)["value"].max()
    return {(task, length, metric): value for (task, length, metric), value in highest.items()}


def tasks(study: Study) -> dict[str, str]:
    """Return the full labels of the tasks of finished runs, and their labels in the study."""
    finished = study.cases[_is_finished(study)]
    # The last label of a task counts, and the first run decides the order.
    return dict(zip(finished["task_label"], finished["task"], strict=True))


def _is_finished(study: Study) -> "pd.Series[bool]":
    return (study.cases["evaluation"] == 0) & (study.cases["status"] == "finished")
