"""Lookups and picture of ruoss15:scaled's page: contiguous and randomized positions by task."""

import functools
import statistics
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docs.build import markdown
from pe_lab.results import compare, formats, frame, reproduction, selection
from pe_lab.results.study import Study
from pe_lab.runs.analysis_spec import Claim, MetricSpec

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = Path("results/published/ruoss15_scaled")
PICTURE = "by_task.png"
_COLORS = {"contiguous": "0.55", "randomized": "#0c6c9c"}


def lookups(root: Path) -> dict[str, Any]:
    study = selection.choose(frame.read(root / FOLDER))
    return {
        "by_task": _table(study),
        "chance": functools.partial(_chance, study),
        "median": functools.partial(_median, study),
        "num_solved": functools.partial(_num_solved, study),
    }


def scores(study: Study, name: str) -> list[float]:
    """Return the mean token accuracy beyond the training lengths of each seed of a variant."""
    return [*compare.by_seed(study, name, _metric(study)).values()]


def _metric(study: Study) -> MetricSpec:
    """The metric of the claims, which is one for all."""
    return reproduction.metric_of(study, _claims(study)[0])


def _claims(study: Study) -> list[Claim]:
    return list(study.spec.reproduction.claims)


def _tasks(study: Study) -> list[str]:
    return list(dict.fromkeys(study.variants["task"]))


def _chance(study: Study, task: str) -> float:
    """The mean token accuracy of the most frequent symbols over the lengths of the claims."""
    first, last = _metric(study).point.lengths
    levels = study.chance_levels
    is_level = (levels["metric"] == "token_accuracy") & (levels["task"] == task)
    return float(levels[is_level & levels["length"].between(first, last)]["value"].mean())


def _median(study: Study, name: str) -> str:
    return formats.number(statistics.median(scores(study, name)))


def _num_solved(study: Study, *schemes: str) -> str:
    """Runs with some schemes that solve the training lengths, of all."""
    runs = study.cases[study.cases["positions"].isin(schemes)]
    return f"{runs['solved'].sum()} of {len(runs)}"


def _table(study: Study) -> str:
    """Medians with contiguous and with randomized positions, and the solved seeds of both."""
    claims = _claims(study)
    rows = [["task", "chance level", *(claim.b.split(" · ")[0] for claim in claims)]]
    for task in _tasks(study):
        cells = []
        for claim in claims:
            medians, solved = [], []
            for name in (f"{task} · {claim.b}", f"{task} · {claim.a}"):
                medians.append(_median(study, name))
                solved.append(str(study.cases_of(name)["solved"].sum()))
            cells.append(f"{' → '.join(medians)} ({', '.join(solved)})")
        rows.append([task, formats.number(_chance(study, task)), *cells])
    return markdown.table(rows)


def draw(root: Path) -> None:
    """Draw every seed with contiguous and with randomized positions, one panel an encoding."""
    from pe_lab.results.plots import drawing

    study = selection.choose(frame.read(root / FOLDER))
    tasks = _tasks(study)
    claims = _claims(study)
    with drawing.settings():
        figure, panels = drawing.pyplot().subplots(
            1,
            len(claims),
            figsize=(drawing.WIDTH, 0.2 * len(tasks) + 0.8),
            sharex=True,
            sharey=True,
            layout="constrained",
        )
        for axes, claim in zip(panels, claims, strict=True):
            chances = [_chance(study, task) for task in tasks]
            axes.plot(chances, range(len(tasks)), "|", color="0.2", ms=9, label="chance level")
            _draw_dots(axes, study, claim.b, "contiguous", shift=-0.15)
            _draw_dots(axes, study, claim.a, "randomized", shift=0.15)
            axes.set_title(claim.b.split(" · ")[0])
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            axes.set_ylim(len(tasks) - 0.5, -0.5)  # the first task at the top
        panels[0].set_yticks(range(len(tasks)), [task.replace("_", " ") for task in tasks])
        figure.supxlabel("mean token accuracy beyond the training lengths", fontsize="medium")
        drawing.legend(figure)
        drawing.save(figure, [root / FOLDER / PICTURE], few_colors=True)


def _draw_dots(axes: "Axes", study: Study, variant: str, label: str, shift: float) -> None:
    """Draw the seeds of a variant, a row for each task. Hollow: no seed solves the task."""
    color = _COLORS[label]
    axes.plot([], [], "o", color=color, ms=3, label=label)  # in the legend
    for row, task in enumerate(_tasks(study)):
        name = f"{task} · {variant}"
        values = scores(study, name)
        is_solved = study.cases_of(name)["solved"].any()
        fill = color if is_solved else "white"
        places = [row + shift] * len(values)
        axes.plot(values, places, "o", color=color, ms=3, markerfacecolor=fill, clip_on=False)
