"""A study as its plots and its report show it: words, panels and looks of its variants."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pe_lab.results import metrics, selection, table_summaries, variant_names
from pe_lab.results.plots import styles
from pe_lab.results.plots.styles import Style
from pe_lab.results.study import EVALUATED_WITH, Study
from pe_lab.runs.studies.analysis_spec import SEPARATOR

# Lines of one axes that a reader can tell apart. It is also the number of colors.
MOST_LINES = len(styles.PALETTE)
HIGHLIGHTED = 8  # lines that have a color in an axes of more lines
REVEALS = "† reveals the target length"
_DAGGER = "\u00a0†"  # behind the name of a variant that reveals the target length


@dataclass(frozen=True)
class Plotted:
    """A study with what its plots add.

    Attributes:
      full: the study before the choice of settings.
      with_grids: the study of the variants that validation chose.
      study: without the points of grids of overrides.
      keys: names of variants without their task, by name. Variants with one key look the same.
      labels: the keys in words.
      panels: the variants of each axes, by its title.
      looks: styles by key. A key without a style is drawn in gray.
    """

    full: Study
    with_grids: Study
    study: Study
    keys: dict[str, str]
    labels: dict[str, str]
    panels: dict[str, list[str]]
    looks: dict[str, Style]


def tests(study: Study) -> pd.DataFrame:
    """Return the main metric in the tests, one row for each run, length and offset."""
    # A row without a value has the reason, which a plot does not show.
    rows = study.rows_of(study.headline)[["run", "evaluation", "length", "offset", "value"]]
    finished = study.cases[study.cases["status"] == "finished"]
    return finished.merge(rows.dropna(), on=["run", "evaluation"])


def of(full: Study) -> Plotted:
    """Return a study with what its plots add."""
    with_grids = selection.choose(full)
    study = table_summaries.without_grids(with_grids)
    keys = {name: without_task(study, name) for name in study.by_name}
    labels = {key: in_words(study, name) for name, key in reversed(keys.items())}
    panels = _panels(study.variants[study.variants["finished"] > 0])
    return Plotted(full, with_grids, study, keys, labels, panels, _looks(study, keys, panels))


def _looks(study: Study, keys: dict[str, str], panels: dict[str, list[str]]) -> dict[str, Style]:
    """Return the style of each key, or of the highlighted ones where an axes has too many lines."""
    of_panels = [list(dict.fromkeys(keys[name] for name in names)) for names in panels.values()]
    if max(map(len, of_panels), default=0) <= MOST_LINES:
        return styles.assign(of_panels)
    lower_is_better = metrics.BY_NAME[study.headline].lower_is_better
    medians = tests(study).groupby(["variant", "length", "offset"], sort=False)["value"].median()
    table = medians.unstack(["length", "offset"])
    # A variant without a number at a length is worse there than all others.
    worst = table.max().max() if lower_is_better else 0.0
    of_variants = table.fillna(worst).mean(axis="columns")
    of_keys = of_variants.groupby(of_variants.index.map(keys), sort=False).mean()
    ranked = of_keys.sort_values(ascending=lower_is_better, kind="stable")
    best = ranked.index[:HIGHLIGHTED]
    # Colors follow the order of the study, and not the ranks.
    return styles.assign([[key for key in dict.fromkeys(keys.values()) if key in best]])


def without_task(study: Study, name: str) -> str:
    """Return the name of a variant without the label of its task."""
    task = variant_names.labels(study, name).get("task")
    trained, separator, override = name.partition(f", {EVALUATED_WITH} ")
    labels = [label for label in trained.split(SEPARATOR) if label != task]
    return SEPARATOR.join(labels) + separator + override


def in_words(study: Study, name: str, setting: Mapping[str, Any] | None = None) -> str:
    """Return the name of a variant without its task, in words, with the sign † if it has it.

    Args:
      setting: the row of `Study.settings` that was chosen, which is named, too.
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
        if axis != "task":
            described.append(styles.words(label, axis))
    # A name that is no list of labels is the name of the study.
    described += [styles.words(part) for part in parts]
    words = SEPARATOR.join(described) or styles.words(row["task_name"])
    if row["override"]:
        words += f", {EVALUATED_WITH} {styles.words(row['override'])}"
    if row["reveals_target_length"]:
        words += _DAGGER
    return words


def _panels(variants: pd.DataFrame) -> dict[str, list[str]]:
    """Return the variants of each axes, by its title.

    Each task has an axes. A task with more variants than a reader can tell apart has a second one
    for variants that reveal the target length. They are never ranked with the others.
    """
    panels: dict[str, list[str]] = {}
    several = variants["task_name"].nunique() > 1
    for task, of_task in variants.groupby("task_name", sort=False):
        title = styles.words(str(task)) if several else ""
        if len(of_task) <= MOST_LINES or of_task["reveals_target_length"].nunique() < 2:
            panels[title] = list(of_task.index)
            continue
        for reveals, group in of_task.groupby("reveals_target_length", sort=True):
            words = "target length revealed" if reveals else "target length unknown"
            panels[f"{title}, {words}".removeprefix(", ")] = list(group.index)
    return panels
