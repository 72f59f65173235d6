"""The numbers of a study that its plots draw, as DataFrames."""

import dataclasses
import math
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from pe_lab.results import compare, frame, metrics, selection
from pe_lab.results import results as study_results
from pe_lab.results.plots import styles
from pe_lab.results.plots.drawing import Line
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

    def line(self, name: str, values: pd.DataFrame) -> Line:
        """Return the line of a variant."""
        variant = self.variants.loc[name]
        return Line(
            variant["key"],
            variant["label"],
            values,
            style=self.looks.get(variant["key"]),
            is_solved=not variant["is_unsolved"],
        )


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
    levels = frame.read_chance_levels(folder).query("metric == @metric")
    # The highest one, if runs of a task have different levels.
    by_length = levels.groupby(["task", "length"], sort=False, as_index=False)
    chance = by_length["value"].max()
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
        chance=chance,
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
    of_panels = [list(keys[names].unique()) for names in panels.values()]
    if max(map(len, of_panels), default=0) <= MOST_LINES:
        return styles.assign(of_panels)
    medians = tests.groupby(["variant", "length", "offset"], sort=False)["value"].median()
    table = medians.unstack(["length", "offset"])
    # A variant without a number at a length is worse there than all others.
    worst = table.max().max() if lower_is_better else 0.0
    of_variants = table.fillna(worst).mean(axis="columns")
    of_keys = of_variants.groupby(keys, sort=False).mean()
    ranked = of_keys.sort_values(ascending=lower_is_better, kind="stable")
    best = ranked.index[:HIGHLIGHTED]
    # Colors follow the order of the study, and not the ranks.
    highlighted = [key for key in keys.unique() if key in best]
    return styles.assign([highlighted])


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
                "is_unsolved": variant.is_unsolved,
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
    parts = variant.name.split(SEPARATOR)
    return SEPARATOR.join(part for part in parts if part != task)


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
    if variant.reveals_target_length:
        name += _DAGGER
    return name


def _tests(results: Results, metric: str, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the test values of each variant, which may have an evaluation override."""
    # A row without a value has the reason, which a plot does not show.
    tests = rows.query("split == 'test'").dropna(subset="value")
    if metric == metrics.BITS:
        tests = tests.query("metric == 'negative_log_likelihood'")
        tests = tests.assign(value=tests["value"] / math.log(2))  # nats to bits
    else:
        tests = tests.query("metric == @metric")
    parts = []
    for variant in results.variants:
        is_override = tests["override"] == (variant.override or "")
        parts.append(_of_variant(tests[is_override], variant))
    return pd.concat(parts) if parts else tests.iloc[:0]


def _curves(results: Results, rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the variants as trained. Training has no overrides."""
    parts = [_of_variant(rows, variant) for variant in results.trained]
    return pd.concat(parts) if parts else rows.iloc[:0]


def _of_variant(rows: pd.DataFrame, variant: Variant) -> pd.DataFrame:
    """Return the rows of a variant's runs, with its name."""
    of_variant = rows[rows["run_id"].isin(_run_ids(variant))]
    # The frame has the names before validation chose.
    return of_variant.assign(variant=variant.name)


def _rates(study: Results, rows: pd.DataFrame) -> pd.DataFrame:
    point = study.spec.extrapolation.point
    tests = rows.query("split == 'test' and metric == 'exact_match' and override == ''")
    tests = tests[tests["offset"] == point.offset]
    up_to_training = tests[tests["length"] <= tests["max_length"]]
    within = up_to_training.groupby("run_id")["value"].mean()
    lengths = tests["max_length"].map(point.length_for)
    beyond = tests[tests["length"] == lengths].set_index("run_id")["value"]
    # A study may sweep the rate without declaring it as tuned.
    spec = dataclasses.replace(study.spec, tuned=(_RATE,))
    tuned = dataclasses.replace(study, spec=spec)
    points = []
    for variant in selection.chosen(tuned).variants:
        if variant.override or len(variant.candidates) < 2:
            continue
        chosen = selection.chosen_candidate(variant)
        for candidate in variant.candidates:
            is_chosen = candidate is chosen
            for record in candidate.finished:
                run_id = record["run_id"]
                # The label of the axis may be a word.
                rate = record["config"]["train"]["learning_rate"]
                values = (within.get(run_id), beyond.get(run_id))
                points.append((variant.name, run_id, rate, is_chosen, *values))
    columns = ["variant", "run_id", "rate", "is_chosen", "within", "beyond"]
    return pd.DataFrame(points, columns=columns)


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
