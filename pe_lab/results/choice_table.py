"""The table of the settings that validation chose, with the results of the others."""

import dataclasses
import math
from collections.abc import Mapping

import pandas as pd

from pe_lab.results import declared_tables, metrics, notes, selection, standard_tables
from pe_lab.results import summary as summaries
from pe_lab.results.formats import DASH, Cell, Table, number
from pe_lab.results.study import Study
from pe_lab.runs.studies.analysis_spec import MetricSpec


def tuning(study: Study) -> Table:
    """The chosen setting of each variant, and the results of the others.

    A text has nothing to solve, so that none of its settings are tied.
    """
    assert study.settings is not None
    assert study.candidates is not None
    metric = MetricSpec(study.headline, study.spec.extrapolation.point)
    # Variants may have been tuned over different settings.
    settings = list(dict.fromkeys(study.settings.sort_values("order", kind="stable")["setting"]))
    labels = study.settings[["variant", "candidate", "setting"]]
    cases = study.candidates.merge(labels, on=["variant", "candidate"])
    without_choice = dataclasses.replace(study, candidates=None)
    by_setting = summaries.of_metric(without_choice, cases, metric, columns=["setting"])
    best = standard_tables.of(study, dataclasses.replace(metric, show="best"))
    rows = []
    for variant in study.by_name:
        of_variant = selection.settings_of(study, variant)
        of_settings = [by_setting.at((variant,), (setting,)) for setting in settings]
        row = [standard_tables.name(study, variant), Cell(_setting(study, variant))]
        row.append(_loss(study, of_variant))
        if not study.is_of_text:
            row.append(_tied(of_variant, dict(zip(settings, of_settings, strict=True)), metric))
        row += of_settings
        if study.spec.oracle:
            row.append(best.of(variant))
        rows.append(row)
    axes = " and ".join(study.spec.tuned)
    caption = (
        f"For each variant, the setting of {axes} with the lowest *validation loss* is chosen: the "
        "mean over lengths up to the training length and over the seeds that all settings have. "
        f"The test is not read. Under each setting: median {metrics.BY_NAME[metric.name].label} "
        f"{metric.point}."
    )
    header = ["variant", "chosen", "validation loss"]
    if study.is_of_text:
        caption += f" The loss is in bits per {study.symbol}."
    else:
        caption += (
            " *tied settings*: the range of these medians over the settings that solve as many "
            "seeds as the chosen one."
        )
        header.append("tied settings")
    header += settings
    of_table = []
    if study.spec.oracle:
        header.append(declared_tables.SHOWN["best"])
        of_table.append(notes.oracle(study))
    return notes.table(f"Choice of {axes}", caption, header, rows, of_table)


def _loss(study: Study, settings: pd.DataFrame) -> Cell:
    """Return the loss that decided. Seeds that the chosen setting alone has are not in it."""
    loss = next(iter(settings.loc[settings["is_chosen"], "loss"]), None)
    style = metrics.BY_NAME["in_distribution_loss"].style
    if study.is_of_text and loss is not None:
        loss, style = loss / math.log(2), "bits"
    return Cell(number(loss, style), loss)


def _tied(settings: pd.DataFrame, cells: Mapping[str, Cell], metric: MetricSpec) -> Cell:
    """Return the range of the medians of the settings that validation does not separate."""
    tied = settings.loc[settings["is_tied"], "setting"]
    values = [cells[setting].value for setting in tied]
    medians = [value for value in values if isinstance(value, int | float)]
    if not medians:
        return Cell(DASH)
    low, high = min(medians), max(medians)
    style = metrics.BY_NAME[metric.name].style
    text = f"{number(low, style)}–{number(high, style)} ({len(tied)} of {len(settings)})"
    return Cell(text, high - low)


def _setting(study: Study, variant: str) -> str:
    """Return the setting that validation chose, and whether it is at the edge of its axis."""
    text = selection.setting(study, variant) or DASH
    is_at_edge = selection.settings_of(study, variant)["is_at_edge"].any()
    return f"{text} {notes.EDGE}" if is_at_edge else text
