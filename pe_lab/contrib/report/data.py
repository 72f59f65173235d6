"""Data of the page: the numbers by variant, metric, offset and length, and the runs with their
curves and provenance.

Keys are short, and values that all runs share are stored once, to keep a page of 500 runs small.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence

from pe_lab.contrib.report import run_data
from pe_lab.contrib.report.run_data import short
from pe_lab.metrics.base import LengthMetric
from pe_lab.results import comparable, compare, metrics, selection, statistics, summary
from pe_lab.results.compare import Counts
from pe_lab.results.notes import EDGE
from pe_lab.results.plots import plotted as plotted_study
from pe_lab.results.plots import styles
from pe_lab.results.plots.plotted import Plotted
from pe_lab.results.plots.styles import Style
from pe_lab.results.study import Study
from pe_lab.runs.records.record_schema import JsonObject

_SHAPES = {  # Vega's names, or paths, of Matplotlib's markers
    "o": "circle",
    "s": "square",
    "^": "triangle-up",
    "D": "diamond",
    "v": "triangle-down",
    "P": "cross",
    "X": "M-1,-.55L-.55,-1L0,-.45L.55,-1L1,-.55L.45,0L1,.55L.55,1L0,.45L-.55,1L-1,.55L-.45,0Z",
    "<": "triangle-left",
    ">": "triangle-right",
    "*": "M0,-1L.29,-.4L.95,-.31L.47,.15L.59,.81L0,.5L-.59,.81L-.47,.15L-.95,-.31L-.29,-.4Z",
}


def of(plotted: Plotted, run_records: Sequence[JsonObject]) -> JsonObject:
    """Return the data of the page as plain values for JSON.

    The variants match the plots, with the setting that validation chose. The runs are all runs of
    the study.

    Args:
      run_records: of all runs.
    """
    chosen = _with_runs(plotted.study)
    names = _metrics(chosen)
    texts = set(chosen.variants.index[chosen.variants["has_text"]])
    settings = [_flat(record["config"]) for record in run_records]
    common = _common(settings)
    looks = _looks(chosen, plotted)
    values = _values(chosen, names)
    counts_of = compare.extrapolation_counts(chosen)
    reasons = _reasons(chosen)
    variants = []
    for variant, label in zip(chosen.by_name, _labels(chosen), strict=True):
        style = looks[plotted_study.without_labels(chosen, variant)]
        entry = _variant(chosen, variant, style, counts_of[variant])
        cells = {}
        for name in names:
            cells[name] = [
                [_cell(values, reasons, name, (variant, offset, n)) for n in chosen.lengths]
                for offset in chosen.offsets
            ]
        variants.append({"name": label, **entry, "values": cells})
    differing = [{k: v for k, v in setting.items() if k not in common} for setting in settings]
    rows, origins = _runs(plotted.full, chosen, run_records, differing)
    metric_entries = []
    for name in names:
        metric = metrics.BY_NAME[name]
        metric_entries.append(
            {"name": name, "label": metric.label, "share": metric.style == "share"}
        )
    return {
        "study": chosen.name,
        "has_text": bool(texts),
        "is_text": len(texts) == len(chosen.variants),
        "length": chosen.length_name,
        "lengths": chosen.lengths,
        "offsets": chosen.offsets,
        "tasks": list(dict.fromkeys(chosen.variants["task_name"])),
        "metrics": metric_entries,
        "chance": _chance(chosen),
        "extrapolation": str(chosen.spec.extrapolation),
        "variants": variants,
        "common": common,
        "origins": origins,
        "runs": rows,
    }


def _runs(
    full: Study, chosen: Study, run_records: Sequence[JsonObject], differing: Sequence[JsonObject]
) -> tuple[list[JsonObject], list[object]]:
    """Return the data of all runs, and the origins that they name by their index.

    Args:
      differing: the settings of each run that not all runs share.
    """
    origins: list[object] = []
    labels = dict(zip(full.by_name, _labels(full), strict=True))
    trained = full.cases[full.cases["evaluation"] == 0]
    variant_of = dict(zip(trained["run_id"], trained["variant"], strict=True))
    solved = dict(zip(trained["run_id"], trained["solved"], strict=True))  # records have no rows
    places = _places(full, chosen, trained["variant"].unique())
    rows: list[JsonObject] = []
    for record, settings in zip(run_records, differing, strict=True):
        variant = variant_of[record["run_id"]]
        is_text = full.by_name[variant]["has_text"]
        is_solved = bool(solved[record["run_id"]])
        row = run_data.of(record, settings, origins, solved=is_solved, is_text=is_text)
        rows.append({"v": places[variant], "name": labels[variant], **row})
    return rows, origins


def _common(settings: Sequence[JsonObject]) -> JsonObject:
    """Return the settings that all runs share."""
    first, *others = settings
    return {
        path: value
        for path, value in first.items()
        if all(path in other and other[path] == value for other in others)
    }


def _with_runs(study: Study) -> Study:
    """Return the study without variants that have no record yet, whose task is not known."""
    has_runs = study.variants["runs"] > 0
    if study.settings is not None:
        runs_of_settings = study.settings.groupby("variant")["runs"].sum()
        has_runs |= runs_of_settings.reindex(study.variants.index).fillna(0) > 0
    return dataclasses.replace(study, variants=study.variants[has_runs])


def _places(full: Study, chosen: Study, trained: Iterable[str]) -> dict[str, int]:
    """Return the index of the chosen variant of which each trained one is a setting, by name."""
    index_of: dict[tuple[str, ...], int] = {}
    for index, row in enumerate(chosen.by_name.values()):
        # The variant as trained comes before its overrides.
        index_of.setdefault(tuple(row[axis] for axis in chosen.axes), index)
    places = {}
    for name in trained:
        places[name] = index_of[tuple(full.by_name[name][axis] for axis in chosen.axes)]
    return places


def _looks(chosen: Study, plotted: Plotted) -> dict[str, Style]:
    """Return the style of each variant without its task: as in the plots, if it has one there.

    A plot of many variants names groups of them in titles, and the page names all in one list.
    """
    of_tasks = []
    for _, of_task in chosen.variants.groupby("task_name", sort=False):
        of_tasks.append([plotted_study.without_labels(chosen, name) for name in of_task.index])
    names = set(itertools.chain(*of_tasks))
    return styles.assign(of_tasks, {k: look for k, look in plotted.looks.items() if k in names})


def _labels(study: Study) -> list[str]:
    """Return the names of the variants in words, each once, with the setting that was chosen."""
    several = study.variants["task_name"].nunique() > 1
    names, labels = [], []
    for name, row in study.by_name.items():
        settings = selection.settings_of(study, name)
        chosen = settings[settings["is_chosen"]]
        words = plotted_study.in_words(study, name)
        names.append(name)
        if len(chosen):
            setting = chosen.iloc[0].to_dict()
            names[-1] = setting["candidate"]
            words = plotted_study.in_words(study, name, setting)
        words = words.replace("\u00a0", " ")
        if several:
            words = f"{styles.words(row['task_name'])} · {words}"
        if len(chosen) and setting["is_at_edge"]:
            words += f" {EDGE}"
        labels.append(words)
    # The page finds a variant by its name, so two variants must not have the same words.
    return names if len(set(labels)) < len(labels) else labels


def _chance(study: Study) -> dict[str, list[float | None]]:
    """Return the chance level of exact match at each length, by task."""
    levels = study.chance_levels.set_index(["task", "metric", "length"])["value"].to_dict()
    by_task = {}
    for task in study.variants["task_name"].unique():
        by_task[task] = [levels.get((task, "exact_match", n)) for n in study.lengths]
    return by_task


def counts(study: Study) -> dict[str, int]:
    """Return the number of runs with each status, and of runs without a record."""
    statuses = study.cases.drop_duplicates("run")["status"].tolist()
    numbers = {status: statuses.count(status) for status in ("finished", "diverged", "failed")}
    return numbers | {"without a record": study.missing}


def _metrics(study: Study) -> list[str]:
    """Return the metrics with values by length, the main metric of the study first."""
    names = []
    for name, entry in metrics.BY_NAME.items():
        has_values = study.rows_of(name)["value"].notna().any()
        if isinstance(entry, LengthMetric) and entry.by_length and has_values:
            names.append(name)
    return sorted(names, key=lambda name: name != study.headline)


def _variant(study: Study, name: str, style: Style, counts: Counts) -> JsonObject:
    row = study.by_name[name]
    return {
        "task": row["task_name"],
        "reveals_target_length": row["reveals_target_length"],
        "apart": comparable.apart(study, name, study.spec.extrapolation.point),
        "solved": [row["solved"], row["runs"]],
        "unsolved": row["is_unsolved"],
        "is_text": row["has_text"],
        "bad": [row["diverged"], row["failed"]],
        "extrapolates": [0, 0] if row["has_text"] else [counts.extrapolating, counts.count],
        "trained": row["max_length"],
        "color": style.color,
        "shape": _SHAPES[style.marker],
        "dash": style.dash or (1.0, 0.0),
    }


Point = tuple[str, int, int]  # variant, offset, length


def _reasons(study: Study) -> dict[Point, str]:
    """Return the reason why a variant has no value at a length and an offset."""
    rows = study.rows_of("exact_match")
    rows = rows[rows["reason"] != ""][["run", "evaluation", "offset", "length", "reason"]]
    reasons = study.cases.merge(rows, on=["run", "evaluation"])
    by_point = dict(reasons.groupby(["variant", "offset", "length"])["reason"].first())
    for name, row in study.by_name.items():
        if not row["finished"]:
            points = itertools.product([name], study.offsets, study.lengths)
            by_point |= dict.fromkeys(points, "no run has finished")
    return by_point


def _values(
    study: Study, names: Sequence[str]
) -> dict[tuple[str, int, str, int], list[float | None]]:
    """Return the value of each run, or None, by variant, offset, metric and length."""
    table = summary.by_point(study, names)
    values = {}
    for key, row in zip(table.index, table.to_numpy().tolist(), strict=True):
        of_variant = row[: study.by_name[key[0]]["runs"]]
        values[key] = [value if value == value else None for value in of_variant]
    return values


def _cell(
    values: Mapping[tuple[str, int, str, int], list[float | None]],
    reasons: Mapping[Point, str],
    metric: str,
    point: Point,
) -> JsonObject:
    """Return the values of the seeds ("s"), their center ("c", "k" is its kind) and its interval
    ("i", "w" is its kind).

    Without values, "w" is the reason and the only key.
    """
    variant, offset, length = point
    of_runs = values.get((variant, offset, metric, length), [])
    center = statistics.center([value for value in of_runs if value is not None])
    if center is None:
        return {"w": reasons.get(point, "not measured")}
    cell = {"s": [short(v) for v in of_runs], "c": short(center.point), "k": center.name}
    interval = center.interval
    if interval is not None:
        cell |= {"i": [short(interval.low), short(interval.high)], "w": interval.kind}
    return cell


def _flat(config: JsonObject, path: str = "") -> JsonObject:
    """Return the settings by dotted path. The spec of a plugin is one value."""
    settings: dict[str, object] = {}
    for key, value in config.items():
        is_group = isinstance(value, Mapping) and "name" not in value
        if is_group:
            settings |= _flat(value, f"{path}{key}.")
        else:
            settings[f"{path}{key}"] = value
    return settings
