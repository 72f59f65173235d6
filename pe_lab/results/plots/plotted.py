"""A study as its plots and its report show it: words, panels and looks of its variants."""

import itertools
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pe_lab.results import comparable, notes, selection, table_summaries, variant_names
from pe_lab.results.plots import styles
from pe_lab.results.plots.styles import Style
from pe_lab.results.study import EVALUATED_WITH, Study
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.studies.analysis_spec import AS_TRAINED, SEPARATOR

MOST_LINES = 8  # of one axes, which a reader can follow
SIGNS = {  # behind the names of variants
    notes.REVEALS: f"{notes.REVEALS} reveals the target length",
    notes.SEEN: f"{notes.SEEN} positions seen in training",
}
_SIGNS = "signs"  # in place of an axis: the title of a panel has the signs


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
      keys: names of variants without what the title of their panel says, by name. Variants whose
        keys differ in signs alone look the same.
      labels: the keys in words.
      looks: styles by key, with and without signs.
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
    plain: dict[str, str] = {}
    keys: dict[str, str] = {}
    labels: dict[str, str] = {}
    for name in study.by_name:
        in_title = in_titles.get(name, ("task",))
        plain[name] = without_labels(study, name, in_title)
        # Panels can differ in the signs of a name. Signs in the title are enough.
        marked = plain[name] + _signs(study, name)
        keys[name] = marked if _SIGNS not in in_title or marked in labels else plain[name]
        labels.setdefault(keys[name], in_words(study, name, without=in_title))
    looks = styles.assign([[plain[name] for name in panel.names] for panel in panels])
    looks |= {keys[name]: looks[plain[name]] for name in plain if plain[name] in looks}
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
    """Return the name of a variant in words, with its signs.

    Args:
      setting: the row of `Study.settings` that was chosen, which is named, too.
      without: axes of the study whose labels are left out, or the signs.
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
    if _SIGNS not in without:
        words += _signs(study, name)
    return words


def _signs(study: Study, name: str) -> str:
    return "".join(f"\u00a0{sign}" for sign in comparable.signs_of_name(study, name))


def explained(study: Study, names: Iterable[str]) -> list[str]:
    """Return the meaning of each sign that some variants have."""
    present = set(itertools.chain(*(comparable.signs_of_name(study, name) for name in names)))
    return [words for sign, words in SIGNS.items() if sign in present]


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
            of_group = _signs_of_group(study, group)
            if labels and of_group:
                title += of_group
                in_title.append(_SIGNS)
            panels.append(Panel(title.strip(), str(task), list(group.index), tuple(in_title)))
    return panels


def _signs_of_group(study: Study, group: pd.DataFrame) -> str:
    """Return the signs that variants share; "" if they differ.

    A variant that reads no positions lacks a sign of its position scheme, and does not count.
    """
    reading = group[group["max_position"].notna()]
    distinct = {_signs(study, str(name)) for name in reading.index}
    return distinct.pop() if len(distinct) == 1 else ""


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
