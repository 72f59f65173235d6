"""The numbers of a study that its plots draw, as DataFrames."""

import dataclasses
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pe_lab.results import compare, frame, metrics, selection
from pe_lab.results import results as study_results
from pe_lab.results.plots import styles
from pe_lab.results.plots.styles import Style
from pe_lab.results.results import EVALUATED_WITH, Results, Variant
from pe_lab.runs.analysis_spec import SEPARATOR

# Lines of one axes that a reader can tell apart. It is also the number of colors.
MOST_LINES = len(styles.PALETTE)
HIGHLIGHTED = 8  # lines that have a color in an axes of more lines
_RATE = "train.learning_rate"
_NUMBER_OF_A_RUN = ["run_id", "split", "length", "offset", "override", "metric"]
_NUMBER_OF_A_CURVE = ["run_id", "step", "split", "length", "metric"]
_NUMBER_OF_AN_ATTRIBUTE = [*_NUMBER_OF_A_RUN[:-1], "attribute", "attribute_value"]
REVEALS = "† reveals the target length"
_DAGGER = "\u00a0†"  # behind the name of a variant that reveals the target length


@dataclass(frozen=True)
class StudyData:
    """What the plots of a study draw, for the variants that validation chose.

    Attributes:
      variants: one row for each variant in the order of the study, with its name as the index:
        name, key (the name without the task), label (the key in words), task, override, reveals
        (the target length), max_length (of training), unit (of lengths), and numbers of runs:
        count, finished, trained (finished or diverged), solved, extrapolating, and known
        (whether they extrapolate).
      results: of the variants that validation chose.
      tests: one row for each run, length and offset: variant, run_id, length, offset, value.
      curves: the numbers during training: variant, run_id, step, split, length, metric, value.
      rates: exact match by learning rate: variant, run_id, rate, is_chosen, within (the training
        length) and beyond (at the point of extrapolation). Empty if rates do not vary.
      chance: chance levels of the metric: task, length, value.
      attributes: of test examples, as trained and at offset 0: the columns of
        `frame.read_attributes`.
      panels: the variants of each axes, with its title.
      looks: styles by key. A key without a style is drawn in gray.
    """

    results: Results
    metric: str
    metric_label: str
    is_share: bool
    variants: pd.DataFrame
    tests: pd.DataFrame
    curves: pd.DataFrame
    rates: pd.DataFrame
    chance: pd.DataFrame
    attributes: pd.DataFrame
    panels: dict[str, list[str]]
    looks: dict[str, Style]


def read(folder: Path) -> StudyData:
    """Read a study's folder.

    Raises:
      UserError: the folder has no study, a record is damaged, or the analysis spec does not fit.
    """
    study = study_results.load(folder)
    results = selection.chosen(study)
    listed = results.without_grids()
    variants = _variants(listed)
    metric = metrics.BITS if results.has_text else "exact_match"
    # A run that two variants share is in the frame twice.
    rows = frame.read(folder).drop_duplicates(_NUMBER_OF_A_RUN)
    tests = _tests(listed, metric, rows)
    curves = frame.read_curves(folder).drop_duplicates(_NUMBER_OF_A_CURVE)
    attributes = frame.read_attributes(folder).drop_duplicates(_NUMBER_OF_AN_ATTRIBUTE)
    attributes = attributes.query("split == 'test' and offset == 0 and override == ''")
    levels = frame.read_chance_levels(folder)
    levels = levels[levels["metric"] == metric]
    panels = _panels(variants[variants["finished"] > 0])
    return StudyData(
        results=results,
        metric=metric,
        metric_label="bits per token" if results.has_text else "exact match",
        is_share=not results.has_text,
        variants=variants,
        tests=tests,
        curves=_curves(results, curves),
        rates=_rates(study, rows),
        chance=levels.groupby(["task", "length"], sort=False, as_index=False)["value"].max(),
        attributes=_curves(results, attributes),
        panels=panels,
        looks=looks(variants, panels, tests, lower_is_better=results.has_text),
    )


def looks(
    variants: pd.DataFrame,
    panels: dict[str, list[str]],
    tests: pd.DataFrame,
    *,
    lower_is_better: bool,
) -> dict[str, Style]:
    """Return the style of each key, or of the highlighted ones where an axes has too many lines."""
    keys = variants["key"]
    of_panels = [list(dict.fromkeys(keys[names])) for names in panels.values()]
    if max(map(len, of_panels), default=0) <= MOST_LINES:
        return styles.assign(of_panels)
    medians = tests.groupby(["variant", "length", "offset"], sort=False)["value"].median()
    table = medians.unstack(["length", "offset"])
    # A variant without a number at a length is worse there than all others.
    table = table.fillna(table.max().max() if lower_is_better else 0.0)
    means = table.mean(axis="columns").groupby(keys, sort=False).mean()
    best = means.sort_values(ascending=lower_is_better, kind="stable").index[:HIGHLIGHTED]
    return styles.assign([[key for key in dict.fromkeys(keys) if key in best]])


def _variants(results: Results) -> pd.DataFrame:
    rows = []
    for variant in results.variants:
        counts = compare.extrapolation_counts(variant, results.spec.extrapolation)
        rows.append(
            {
                "name": variant.name,
                "key": without_task(variant),
                "label": in_words(variant),
                "task": variant.task,
                "override": variant.override or "",
                "reveals": variant.reveals_target_length,
                "solved": variant.solved,
                "count": len(variant.runs),
                "finished": len(variant.finished),
                "trained": sum(record["status"] != "failed" for record in variant.runs),
                "extrapolating": counts.extrapolating,
                "known": counts.count,
                "max_length": variant.max_length,
                "unit": _unit(variant),
            }
        )
    return pd.DataFrame(rows).set_index("name", drop=False)


def _unit(variant: Variant) -> str:
    units = [record["exposure"]["length_name"] for record in variant.finished]
    return units[0] if units else ""


def without_task(variant: Variant) -> str:
    """Return the name of a variant without the label of its task."""
    task = variant.labels.get("task")
    return SEPARATOR.join(part for part in variant.name.split(SEPARATOR) if part != task)


def in_words(variant: Variant) -> str:
    """Return the name of a variant without its task, in words, with the sign † if it has it."""
    suffix = f", {EVALUATED_WITH} {variant.override}" if variant.override else ""
    parts = variant.name.removesuffix(suffix).split(SEPARATOR)
    described = []
    for axis, label in variant.labels.items():
        if label not in parts:
            continue
        parts.remove(label)
        if axis != "task":
            described.append(styles.words(label, axis))
    # A name that is no list of labels is the name of the study.
    described += [styles.words(part) for part in parts]
    name = SEPARATOR.join(described) or styles.words(variant.task)
    if variant.override:
        name += f", {EVALUATED_WITH} {styles.words(variant.override)}"
    return name + _DAGGER * variant.reveals_target_length


def _tests(results: Results, metric: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the test values of each variant, which may have an evaluation override."""
    tests = rows[(rows["split"] == "test") & rows["value"].notna()]
    if metric == metrics.BITS:
        tests = tests[tests["metric"] == "negative_log_likelihood"].copy()
        tests["value"] /= math.log(2)  # nats to bits
    else:
        tests = tests[tests["metric"] == metric]
    parts = [
        tests[tests["run_id"].isin(_run_ids(v)) & (tests["override"] == (v.override or ""))].assign(
            variant=v.name
        )
        for v in results.variants
    ]
    return _joined(parts, tests)


def _curves(results: Results, rows: pd.DataFrame) -> pd.DataFrame:
    trained = [v for v in results.variants if v.override is None]
    parts = [rows[rows["run_id"].isin(_run_ids(v))].assign(variant=v.name) for v in trained]
    return _joined(parts, rows)


def _rates(study: Results, rows: pd.DataFrame) -> pd.DataFrame:
    columns = ["variant", "run_id", "rate", "is_chosen", "within", "beyond"]
    point = study.spec.extrapolation.point
    is_test = (rows["split"] == "test") & (rows["metric"] == "exact_match")
    tests = rows[is_test & (rows["override"] == "") & (rows["offset"] == point.offset)]
    within = tests[tests["length"] <= tests["max_length"]].groupby("run_id")["value"].mean()
    lengths = tests["max_length"].map(point.length_for)
    beyond = tests[tests["length"] == lengths].set_index("run_id")["value"]
    spec = dataclasses.replace(study.spec, tuned=(_RATE,))
    points = []
    for variant in selection.chosen(dataclasses.replace(study, spec=spec)).variants:
        if variant.override or len(variant.candidates) < 2:
            continue
        chosen = selection.chosen_candidate(variant)
        for candidate in variant.candidates:
            is_chosen = candidate is chosen
            for run_id in _run_ids(candidate):
                values = (within.get(run_id), beyond.get(run_id))
                rate = float(candidate.labels[_RATE])
                points.append((variant.name, run_id, rate, is_chosen, *values))
    return pd.DataFrame(points, columns=columns)


def _joined(parts: Sequence[pd.DataFrame], empty: pd.DataFrame) -> pd.DataFrame:
    return pd.concat(parts) if parts else empty.iloc[:0]


def _run_ids(variant: Variant) -> list[str]:
    return [record["run_id"] for record in variant.finished]


def _panels(variants: pd.DataFrame) -> dict[str, list[str]]:
    """Return the variants of each axes, by its title.

    Each task has an axes. A task with more variants than a reader can tell apart has a second one
    for variants that reveal the target length. They are never ranked with the others.
    """
    panels: dict[str, list[str]] = {}
    several = variants["task"].nunique() > 1
    for task, of_task in variants.groupby("task", sort=False):
        title = styles.words(str(task)) if several else ""
        if len(of_task) <= MOST_LINES or of_task["reveals"].nunique() < 2:
            panels[title] = list(of_task["name"])
            continue
        for reveals, group in of_task.groupby("reveals", sort=True):
            words = "target length revealed" if reveals else "target length unknown"
            panels[f"{title}, {words}".removeprefix(", ")] = list(group["name"])
    return panels
