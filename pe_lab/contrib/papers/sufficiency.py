"""Whether the runs of variants suffice for a verdict on a claim of a paper."""

from collections.abc import Sequence

from pe_lab.contrib.papers.verdicts import FEWEST_SEEDS
from pe_lab.results import comparable, compare
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec

CHANCE_MARGIN = 0.05  # of a metric, above its chance level


def has_enough_solved(study: Study, names: Sequence[str], point: MetricPoint) -> bool:
    """Return whether enough seeds solved the training lengths, if the point is beyond these."""
    for name in names:
        is_beyond = comparable.is_beyond_training(study.by_name[name], point)
        if is_beyond and num_solved(study, name) < FEWEST_SEEDS:
            return False
    return True


def num_solved(study: Study, name: str) -> int:
    """Return how many seeds solve the training lengths; all that finished, for a text."""
    row = study.by_name[name]
    return int(row["finished"] if row["has_text"] else row["solved"])


def first_solved(study: Study, name: str, count: int) -> tuple[list[tuple[int, int]], int]:
    """Return the first seeds that solve the training lengths, and how many were drawn for them."""
    cases = study.cases_of(name).sort_values(["seed", "data_seed"])
    cases = cases[cases["status"] != "failed"]
    num_solved_before = cases["solved"].cumsum().shift(fill_value=0)
    cases = cases[num_solved_before < count]
    solved = cases[cases["solved"].astype(bool)]
    return list(zip(solved["seed"].tolist(), solved["data_seed"].tolist(), strict=True)), len(cases)


def few_of_text(study: Study, names: Sequence[str]) -> str:
    """Return that too few runs of a text finished, which has nothing to solve; "" for tasks."""
    if any(not study.by_name[name]["has_text"] for name in names):
        return ""
    return f"fewer than {FEWEST_SEEDS} runs of a text finished"


def diverged(study: Study, names: Sequence[str]) -> str:
    """Return that runs diverged, which have no number for a mean; "" if none did."""
    count = sum(int(study.by_name[name]["diverged"]) for name in dict.fromkeys(names))
    return f"{count} of the runs diverged" if count else ""


def is_at_chance(study: Study, names: Sequence[str], metric: MetricSpec) -> bool:
    """Return whether no run of some variants is above chance. False without chance levels."""
    return all(_has_no_run_above_chance(study, name, metric) for name in names)


def _has_no_run_above_chance(study: Study, name: str, metric: MetricSpec) -> bool:
    row, point = study.by_name[name], metric.point
    levels = study.chance_levels
    # An answer has the same chance level without its end.
    is_metric = levels["metric"] == metric.name.removesuffix("_without_end")
    is_task = (levels["task"] == row["task_name"]) & is_metric
    lengths = point.lengths or [point.length_for(row["max_length"]) or 0] * 2
    level = levels.loc[is_task & levels["length"].between(*lengths), "value"].mean()
    values = compare.by_seed(study, name, metric).values()
    # Without levels, the mean is NaN.
    return bool(values) and bool(max(values) <= level + CHANCE_MARGIN)
