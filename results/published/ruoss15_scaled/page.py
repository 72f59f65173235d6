"""Table and picture of ruoss15:scaled's page: contiguous and randomized positions by task."""

import functools
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from docs.build import markdown
from docs.build.published import STUDIES
from experiments import published
from pe_lab.contrib.papers import reproduction
from pe_lab.results import compare, formats, statistics, summary
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import Claim, Contrast, MetricSpec, parts

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = STUDIES / "ruoss15_scaled"
PICTURE = "by_task.png"
_COLORS = {"contiguous": "0.55", "randomized": "#0c6c9c"}


def lookups(root: Path) -> dict[str, Any]:
    """Return the table of the page, and the numbers of its sentences."""
    study = published.of(root, FOLDER.name).chosen
    changes = _changes(study)
    return {
        "by_task": _table(study),
        "median": functools.partial(_median, study),
        "change": lambda task: formats.signed(float(changes.loc[task].mean())),
        "largest_other_change": functools.partial(_largest_other_change, changes),
        "change_without": functools.partial(_change_without, changes),
        "most_above_chance": functools.partial(_most_above_chance, study),
        "solved": functools.partial(_solved, study),
    }


def scores(study: Study, name: str) -> list[float]:
    """Return the metric of the claims of each seed of a variant that has a number.

    This is the mean token accuracy over the tested lengths beyond the training lengths.
    """
    return _by_seed(study, name)["value"].tolist()


def _by_seed(study: Study, name: str) -> pd.DataFrame:
    """The runs of a variant that have a number, with the metric of the claims as value."""
    metric = _metric(study)
    values = summary.values_at(study, study.cases_of(name), metric.name, metric.point)
    return values.dropna(subset="value")


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


def _pairs(study: Study, claim: Claim) -> dict[str, tuple[str, str]]:
    """The variants of a claim by task: with randomized and with contiguous positions."""
    pairs = compare.pairs(study, Contrast(claim.a, claim.b))
    return {str(study.by_name[a]["task"]): (a, b) for a, b in pairs}


def _changes(study: Study) -> pd.DataFrame:
    """The mean score with randomized positions minus that with contiguous ones.

    Rows are tasks, and columns are the encodings of the claims.
    """
    changes = {}
    for claim in study.spec.reproduction.claims:
        means = {
            task: [float(np.mean(scores(study, name))) for name in pair]
            for task, pair in _pairs(study, claim).items()
        }
        changes[parts(claim.b)[0]] = {task: a - b for task, (a, b) in means.items()}
    return pd.DataFrame(changes)


def _largest_other_change(changes: pd.DataFrame, *tasks: str) -> str:
    """The change of the largest size on a task that is not among these, over all encodings."""
    others = changes.drop(index=list(tasks)).mean(axis=1)
    return formats.signed(float(others[others.abs().idxmax()]))


def _change_without(changes: pd.DataFrame, tasks: Sequence[str], encoding: str = "") -> str:
    """The mean change over all other tasks, of one encoding or of all."""
    means = changes.drop(index=list(tasks)).mean()
    return formats.signed(float(means[encoding] if encoding else means.mean()))


def _most_above_chance(study: Study, *tasks: str) -> str:
    """The largest median minus the chance level, of all variants of the claims on some tasks."""
    chances, gaps = _chances(study), []
    for claim in study.spec.reproduction.claims:
        pairs = _pairs(study, claim)
        for task in tasks:
            gaps += [float(np.median(scores(study, name))) - chances[task] for name in pairs[task]]
    return formats.number(max(gaps))


def _solved(study: Study, positions: str, *tasks: str) -> str:
    """Runs of the claims that solve the training lengths, with randomized or contiguous positions.

    They are counted of all runs that have a number. Without tasks, they are those of all tasks.
    """
    side = ("randomized", "contiguous").index(positions)
    names = []
    for claim in study.spec.reproduction.claims:
        pairs = _pairs(study, claim)
        names += [pairs[task][side] for task in tasks or pairs]
    runs = pd.concat([_by_seed(study, name) for name in names])
    return f"{runs['solved'].sum()} of {len(runs)}"


def _table(study: Study) -> str:
    """Medians with contiguous and with randomized positions, and the solved seeds of both."""
    claims = study.spec.reproduction.claims
    by_claim = [_pairs(study, claim) for claim in claims]
    rows = [["task", "chance level", "none", *(parts(claim.b)[0] for claim in claims)]]
    for task, chance in _chances(study).items():
        cells = [_cell(study, f"{task} · none · contiguous")]
        for pairs in by_claim:
            randomized, contiguous = pairs[task]
            cells.append(_cell(study, contiguous, randomized))
        rows.append([task, formats.number(chance), *cells])
    return markdown.table(rows)


def _cell(study: Study, *names: str) -> str:
    """The medians and the solved seeds of variants."""
    medians = " → ".join(_median(study, name) for name in names)
    return f"{medians} ({', '.join(str(study.by_name[name]['solved']) for name in names)})"


def draw(root: Path) -> None:
    """Draw every seed with contiguous and with randomized positions, one panel an encoding."""
    from pe_lab.results.plots import drawing, styles

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
            levels, pairs = list(chances.values()), _pairs(study, claim)
            axes.plot(
                levels, range(len(levels)), "|", c="0.2", ms=9, zorder=3, label="chance level"
            )
            randomized, contiguous = zip(*(pairs[task] for task in chances), strict=True)
            _draw_dots(axes, study, contiguous, "contiguous", shift=-0.15)
            _draw_dots(axes, study, randomized, "randomized", shift=0.15)
            axes.set_title(styles.words(parts(claim.b)[0]))
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            axes.set_ylim(len(levels) - 0.5, -0.5)  # the first task at the top
        panels[0].set_yticks(range(len(chances)), [task.replace("_", " ") for task in chances])
        figure.supxlabel("mean token accuracy beyond the training lengths", fontsize="medium")
        drawing.legend(figure)
        drawing.save(figure, [root / FOLDER / PICTURE], few_colors=True)


def _draw_dots(axes: "Axes", study: Study, names: Sequence[str], label: str, shift: float) -> None:
    """Draw the seeds of variants, a row for each. Filled: it solves the training lengths."""
    color = _COLORS[label]
    axes.plot([], [], "o", color=color, ms=3, label=label)  # in the legend
    for row, name in enumerate(names):
        for is_solved, runs in _by_seed(study, name).groupby("solved"):
            fill = color if is_solved else "white"
            places = [row + shift] * len(runs)
            axes.plot(
                runs["value"], places, "o", color=color, ms=3, markerfacecolor=fill, clip_on=False
            )
