"""A study as its plots and its report show it: words, panels and looks of its variants."""

import itertools
import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pe_lab.results import selection, table_summaries, variant_names
from pe_lab.results.plots import styles
from pe_lab.results.plots.styles import Style
from pe_lab.results.study import EVALUATED_WITH, Study
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies.analysis_spec import AS_TRAINED, SEPARATOR

MOST_LINES = 8  # of one axes, which a reader can follow
REVEALS = "† reveals the target length"
_REVEALS = "reveals_target_length"  # a column of variants
_DAGGER = "\u00a0†"  # behind the name of a variant that reveals the target length


@dataclass(frozen=True)
class Panel:
    """The variants of one axes: all of a task, or one group of them if they are many."""

    title: str
    task: str
    names: list[str]
    in_title: tuple[str, ...]  # axes of the study whose labels the title has


@dataclass(frozen=True)
class Plotted:
    """A study with what its plots add.

    Attributes:
      full: the study before the choice of settings.
      with_grids: the study of the chosen variants.
      study: without the points of grids of overrides.
      panels: the axes of a plot, each with its variants.
      keys: names of variants without what the title of their panel says, by name. Variants with one
        key look the same.
      labels: the keys in words.
      looks: styles by key.
    """

    full: Study
    with_grids: Study
    study: Study
    panels: list[Panel]
    keys: dict[str, str]
    labels: dict[str, str]
    looks: dict[str, Style]


def tests(study: Study) -> pd.DataFrame:
    """Return the main metric in the tests, one row for each run, length and offset."""
    # A row without a value has the reason, which a plot does not show.
    rows = study.rows_of(study.headline)[["run", "evaluation", "length", "offset", "value"]]
    finished = study.cases[study.cases["status"] == "finished"]
    return finished.merge(rows.dropna(), on=["run", "evaluation"])


def of(full: Study, axes: Sequence[str] | None = None) -> Plotted:
    """Return a study with what its plots add.

    Args:
      axes: whose values validation chooses; None: those that the study declares.
    """
    with_grids = selection.choose(full, axes)
    study = table_summaries.without_grids(with_grids)
    panels = _panels(study)
    in_titles = {name: panel.in_title for panel in panels for name in panel.names}
    keys: dict[str, str] = {}
    labels: dict[str, str] = {}
    for name, row in study.by_name.items():
        in_title = in_titles.get(name, ("task",))
        keys[name] = without_labels(study, name, in_title)
        marked = keys[name] + _DAGGER
        # Panels can differ in whether a name reveals the target length. One sign is enough.
        if len(in_title) > 1 and row[_REVEALS] and (_REVEALS not in in_title or marked in labels):
            keys[name] = marked
        labels.setdefault(keys[name], in_words(study, name, without=in_title))
    looks = styles.assign([[keys[name] for name in panel.names] for panel in panels])
    return Plotted(full, with_grids, study, panels, keys, labels, looks)


def without_labels(study: Study, name: str, axes: Collection[str] = ("task",)) -> str:
    """Return the name of a variant without its labels on some axes of the study."""
    labels = variant_names.labels(study, name)
    trained, _, override = name.partition(f", {EVALUATED_WITH} ")
    parts = trained.split(SEPARATOR)
    for axis in axes:
        if labels.get(axis) in parts:
            parts.remove(labels[axis])
    words = SEPARATOR.join(parts)
    if override and EVALUATED_WITH not in axes:
        words += f", {EVALUATED_WITH} {override}"
    return words


def in_words(
    study: Study,
    name: str,
    setting: JsonObject | None = None,
    without: Collection[str] = ("task",),
) -> str:
    """Return the name of a variant in words, with the sign † if it has it.

    Args:
      setting: the row of `Study.settings` that was chosen, which is named, too.
      without: axes of the study whose labels are left out, or the column of the sign.
    """
    row = study.by_name[name]
    labels, full_name = variant_names.labels(study, name), name
    if setting is not None:
        labels |= {axis: setting[axis] for axis in study.spec.tuned}
        full_name = setting["candidate"]
    trained, _, _ = full_name.partition(f", {EVALUATED_WITH} ")
    parts = trained.split(SEPARATOR)
    described = []
    for axis, label in labels.items():
        if label not in parts:
            continue
        parts.remove(label)
        if axis not in without:
            described.append(styles.words(label, axis))
    # A name that is no list of labels is the name of the study.
    described += [styles.words(part) for part in parts]
    words = SEPARATOR.join(described) or styles.words(row["task_name"])
    if row["override"] and EVALUATED_WITH not in without:
        words += f", {EVALUATED_WITH} {styles.words(row['override'])}"
    if row[_REVEALS] and _REVEALS not in without:
        words += _DAGGER
    return words


def _panels(study: Study) -> list[Panel]:
    """Return the axes of a plot: one for each task, or for each group of its variants."""
    variants = study.variants[study.variants["finished"] > 0]
    several = variants["task_name"].nunique() > 1
    axes = [axis for axis in study.axes if axis != "task"]
    panels = []
    for task, of_task in variants.groupby("task_name", sort=False):
        divided = groups(of_task[[*axes, EVALUATED_WITH]], MOST_LINES)
        for labels, rows in divided:
            words = [styles.words(str(task))] * several
            words += [_in_title(label, axis) for axis, label in labels.items()]
            group = of_task.iloc[rows]
            members = [number for common, part in divided if common == labels for number in part]
            title, in_title = SEPARATOR.join(words), ["task", *labels]
            if len(rows) < len(members):
                first = members.index(rows[0]) + 1
                title += f"\nvariants {first} to {first + len(rows) - 1}"
            if labels and group[_REVEALS].all():
                title += _DAGGER
                in_title.append(_REVEALS)
            panels.append(Panel(title.strip(), str(task), list(group.index), tuple(in_title)))
    return panels


def _in_title(label: str, axis: str) -> str:
    if axis == EVALUATED_WITH:
        return f"with {styles.words(label)}" if label else AS_TRAINED
    return styles.words(label, axis) if label else f"default {styles.axis_name(axis)}"


def groups(labels: pd.DataFrame, most: int) -> list[tuple[dict[str, str], list[int]]]:
    """Divide the rows of a table of labels into groups of at most `most`.

    The rows of a group have the same labels on the columns that make the fewest groups of two rows
    and more. If that makes many small groups, groups are neighboring rows.

    Returns:
      The common labels of each group, by column, and the numbers of its rows.
    """
    labels = labels.reset_index(drop=True)
    columns = [column for column in labels if labels[column].nunique() > 1]
    undivided = _parts({}, labels, most)
    best, fewest = undivided, (2 * len(undivided) + 1, 0)
    for count in range(1, len(columns) if len(undivided) > 1 else 0):
        # Of divisions that are equally good, the last columns divide: the first one has what a
        # study compares, such as encodings, which then are lines of one axes.
        for chosen in itertools.combinations(reversed(columns), count):
            common = sorted(chosen, key=columns.index)
            grouped = list(labels.groupby(common, sort=False))
            if any(len(rows) < 2 for _, rows in grouped):
                continue  # a line alone is compared with nothing
            named = [(dict(zip(common, key, strict=True)), rows) for key, rows in grouped]
            division = [part for words, rows in named for part in _parts(words, rows, most)]
            size = (len(division), len(division) - len(grouped))
            if size < fewest:
                best, fewest = division, size
    return best


def _parts(
    common: dict[str, str], rows: pd.DataFrame, most: int
) -> list[tuple[dict[str, str], list[int]]]:
    """Divide rows into as few parts as fit, of nearly equal size."""
    parts = np.array_split(rows.index.to_numpy(), math.ceil(len(rows) / most))
    return [(common, part.tolist()) for part in parts]
