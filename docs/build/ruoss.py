"""Table and picture of ruoss15:scaled's page: contiguous and randomized positions by task."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from docs.build import markdown, published
from pe_lab.results import compare, formats, reproduction, statistics
from pe_lab.results.study import Study
from pe_lab.runs.analysis_spec import Claim, Contrast, MetricSpec, parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = published.STUDIES / "ruoss15_scaled"
PICTURE = "by_task.png"
_COLORS = {"contiguous": "0.55", "randomized": "#0c6c9c"}


def lookups(root: Path) -> dict[str, Any]:
    study = published.of(root, FOLDER.name).chosen
    contiguous, randomized = _solved(study)
    return {
        "by_task": _table(study),
        "median": functools.partial(_median, study),
        "change": lambda task: formats.signed(_changes(study)[task]),
        "largest_other_change": functools.partial(_largest_other_change, study),
        "most_above_chance": functools.partial(_most_above_chance, study),
        "solved_contiguous": contiguous,
        "solved_randomized": randomized,
    }


def scores(study: Study, name: str) -> list[float]:
    """Return the metric of the claims of each seed of a variant that has a number.

    This is the mean token accuracy over the tested lengths beyond the training lengths.
    """
    return [*compare.by_seed(study, name, _metric(study)).values()]


def _metric(study: Study) -> MetricSpec:
    """The metric of the claims, which is one for all."""
    return reproduction.metric_of(study, study.spec.reproduction.claims[0])


def _median(study: Study, name: str) -> str:
    return formats.number(statistics.median(scores(study, name)))


def _chances(study: Study) -> dict[str, float]:
    """The chance level of each task: a mean over the lengths of the claims."""
    metric = _metric(study)
    assert metric.point.lengths is not None
    first, last = metric.point.lengths
    levels = study.chance_levels
    is_beyond = levels["length"].between(first, last)
    of_metric = levels[is_beyond & (levels["metric"] == metric.name)]
    means = of_metric.groupby("task", sort=False, observed=True)["value"].mean()
    return {task: float(means[task]) for task in dict.fromkeys(study.variants["task"])}


def _pairs(study: Study, claim: Claim) -> list[tuple[str, str]]:
    """The variants of a claim, in the order of the tasks."""
    return compare.pairs(study, Contrast(claim.a, claim.b))


def _changes(study: Study) -> dict[str, float]:
    """The mean score with randomized positions minus that with contiguous ones, by task.

    The mean is over the encodings of the claims and the seeds.
    """
    changes: dict[str, list[float]] = {}
    for claim in study.spec.reproduction.claims:
        for task, pair in zip(_chances(study), _pairs(study, claim), strict=True):
            randomized, contiguous = (float(np.mean(scores(study, name))) for name in pair)
            changes.setdefault(task, []).append(randomized - contiguous)
    return {task: float(np.mean(of_task)) for task, of_task in changes.items()}


def _largest_other_change(study: Study, *tasks: str) -> str:
    """The largest change of a task that is not among these."""
    others = [change for task, change in _changes(study).items() if task not in tasks]
    return formats.signed(max(others))


def _most_above_chance(study: Study, *tasks: str) -> str:
    """The largest median minus the chance level, of all variants of the claims on some tasks."""
    gaps = []
    for claim in study.spec.reproduction.claims:
        for (task, chance), pair in zip(_chances(study).items(), _pairs(study, claim), strict=True):
            if task in tasks:
                gaps += [float(np.median(scores(study, name))) - chance for name in pair]
    return formats.number(max(gaps))


def _solved(study: Study) -> tuple[str, str]:
    """Runs that solve the training lengths with contiguous and with randomized positions."""
    pairs = [pair for claim in study.spec.reproduction.claims for pair in _pairs(study, claim)]
    texts = []
    for names in ([b for _, b in pairs], [a for a, _ in pairs]):
        solved = sum(int(study.by_name[name]["solved"]) for name in names)
        texts.append(f"{solved} of {sum(len(scores(study, name)) for name in names)}")
    return texts[0], texts[1]


def _table(study: Study) -> str:
    """Medians with contiguous and with randomized positions, and the solved seeds of both."""
    chances = _chances(study)
    header = ["task", "chance level"]
    rows = [[task, formats.number(level)] for task, level in chances.items()]
    for claim in study.spec.reproduction.claims:
        header.append(parts(claim.b)[0])
        for row, (randomized, contiguous) in zip(rows, _pairs(study, claim), strict=True):
            sides = (contiguous, randomized)
            medians = " → ".join(_median(study, name) for name in sides)
            solved = ", ".join(str(study.by_name[name]["solved"]) for name in sides)
            row.append(f"{medians} ({solved})")
    return markdown.table([header, *rows])


def draw(root: Path) -> None:
    """Draw every seed with contiguous and with randomized positions, one panel an encoding."""
    from pe_lab.results.plots import drawing

    study = published.of(root, FOLDER.name).chosen
    chances = _chances(study)
    claims = study.spec.reproduction.claims
    with drawing.settings():
        figure, panels = drawing.pyplot().subplots(
            1,
            len(claims),
            figsize=(drawing.WIDTH, 0.2 * len(chances) + 0.8),
            sharex=True,
            sharey=True,
            layout="constrained",
        )
        for axes, claim in zip(panels, claims, strict=True):
            levels = list(chances.values())
            axes.plot(levels, range(len(levels)), "|", color="0.2", ms=9, label="chance level")
            randomized, contiguous = zip(*_pairs(study, claim), strict=True)
            _draw_dots(axes, study, contiguous, "contiguous", shift=-0.15)
            _draw_dots(axes, study, randomized, "randomized", shift=0.15)
            axes.set_title(parts(claim.b)[0])
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            axes.set_ylim(len(levels) - 0.5, -0.5)  # the first task at the top
        panels[0].set_yticks(range(len(chances)), [task.replace("_", " ") for task in chances])
        figure.supxlabel("mean token accuracy beyond the training lengths", fontsize="medium")
        drawing.legend(figure)
        drawing.save(figure, [root / FOLDER / PICTURE], few_colors=True)


def _draw_dots(axes: "Axes", study: Study, names: Sequence[str], label: str, shift: float) -> None:
    """Draw the seeds of variants, a row for each. Hollow: no seed solves the training lengths."""
    color = _COLORS[label]
    axes.plot([], [], "o", color=color, ms=3, label=label)  # in the legend
    for row, name in enumerate(names):
        values = scores(study, name)
        fill = "white" if study.by_name[name]["is_unsolved"] else color
        places = [row + shift] * len(values)
        axes.plot(values, places, "o", color=color, ms=3, markerfacecolor=fill, clip_on=False)
