"""Data of the page: the numbers by variant, metric, offset and length, and the runs with their
curves and provenance.

Keys are short, and values that all runs share are stored once, to keep a page of 500 runs small.
"""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from pe_lab.metrics.base import LengthMetric
from pe_lab.results import cells, comparable, compare, metrics, selection, statistics, views
from pe_lab.results.notes import EDGE, SEEN
from pe_lab.results.plots import styles
from pe_lab.results.plots.study_data import StudyData, in_words, without_task
from pe_lab.results.plots.styles import Style
from pe_lab.results.results import Results, Variant
from pe_lab.runs import validation
from pe_lab.runs.labels import label
from pe_lab.runs.record_schema import JsonObject

_DIGITS = 5
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


def of(results: Results, plotted: StudyData) -> JsonObject:
    """Return the data of the page as plain values for JSON.

    The variants are those of the plots, with the setting that validation chose. The runs are all
    runs of the study.

    Args:
      plotted: the data of the study's plots. The page has the same colors.
    """
    chosen = _with_runs(plotted.results.without_grids())
    names = _metrics(chosen)
    settings = [_flat(record["config"]) for record in runs(results)]
    common = _common(settings)
    origins: list[Any] = []
    looks, labels = _looks(chosen, plotted), _labels(chosen)
    variants = []
    for variant, name in zip(chosen.variants, labels, strict=True):
        entry = _variant(variant, chosen, names, looks[without_task(variant)])
        variants.append({"name": name, **entry})
    places, names_of_runs = _places(results, chosen), _names_of_runs(results)
    rows = []
    for record, setting in zip(runs(results), settings, strict=True):
        run_id = record["run_id"]
        different = {path: value for path, value in setting.items() if path not in common}
        row = _run(record, different, origins)
        rows.append({"v": places[run_id], "name": names_of_runs[run_id], **row})
    return {
        "study": results.name,
        "length": results.length_name,
        "lengths": chosen.lengths,
        "offsets": chosen.offsets,
        "tasks": list(dict.fromkeys(variant.task for variant in chosen.variants)),
        "metrics": [
            {
                "name": name,
                "label": metrics.BY_NAME[name].label,
                "share": metrics.BY_NAME[name].style == "share",
            }
            for name in names
        ],
        "chance": _chance(chosen),
        "extrapolation": str(results.spec.extrapolation),
        "variants": variants,
        "common": common,
        "origins": origins,
        "runs": rows,
    }


def _common(settings: Sequence[JsonObject]) -> JsonObject:
    """Return the settings that all runs share."""
    first, *others = settings
    return {
        path: value
        for path, value in first.items()
        if all(path in other and other[path] == value for other in others)
    }


def _with_runs(results: Results) -> Results:
    """Return the results without variants that have no record yet, whose task is not known."""
    variants = tuple(v for v in results.variants if any(c.runs for c in (v, *v.candidates)))
    return dataclasses.replace(results, variants=variants)


def _places(results: Results, chosen: Results) -> dict[str, int]:
    """Return the index of the chosen variant that each run was trained for, by run id."""
    tuned = results.spec.tuned
    labels_of_chosen = [variant.labels for variant in chosen.variants]
    places = {}
    for variant in _with_runs(results).variants:
        if variant.override is None:
            untuned = {axis: text for axis, text in variant.labels.items() if axis not in tuned}
            place = labels_of_chosen.index(untuned)
            places.update({record["run_id"]: place for record in variant.runs})
    return places


def _names_of_runs(results: Results) -> dict[str, str]:
    """Return the name of each run's variant, with its own setting, by run id."""
    names = {}
    for variant, name in zip(results.variants, _labels(results), strict=True):
        if variant.override is None:
            names.update({record["run_id"]: name for record in variant.runs})
    return names


def _looks(chosen: Results, plotted: StudyData) -> dict[str, Style]:
    """Return the style of each variant: as in the plots, or one that the plots do not use."""
    of_tasks: dict[str, list[str]] = {}
    for variant in chosen.variants:
        of_tasks.setdefault(variant.task, []).append(without_task(variant))
    return styles.assign(list(of_tasks.values()), plotted.looks)


def _labels(results: Results) -> list[str]:
    """Return the names of the variants in words, each once, with the setting that was chosen."""
    several = len({variant.task for variant in results.variants}) > 1
    candidates = [selection.chosen_candidate(variant) for variant in results.variants]
    labels = []
    for variant, candidate in zip(results.variants, candidates, strict=True):
        label = in_words(candidate).replace("\u00a0", " ")
        if several:
            label = f"{styles.words(variant.task)} · {label}"
        if selection.at_edge(variant, results.spec.tuned):
            label += f" {EDGE}"
        if SEEN in cells.name(results, variant).text:
            label += f" {SEEN}"
        labels.append(label)
    # The page finds a variant by its name, so two variants must not have the same words.
    if len(set(labels)) < len(labels):
        return [candidate.name for candidate in candidates]
    return labels


def _chance(results: Results) -> dict[str, list[float | None]]:
    """Return the chance level of exact match at each length, by task."""
    tasks = dict.fromkeys(variant.task for variant in results.variants)
    levels = {}
    for task in tasks:
        of_task = [v for v in results.variants if v.task == task and v.runs]
        trained_on = next((label(v.runs[0]["config"]["task"]) for v in of_task), None)
        levels[task] = [
            results.chance_level(length, "exact_match", trained_on) for length in results.lengths
        ]
    return levels


def runs(results: Results) -> list[JsonObject]:
    """Return the record of each run."""
    by_id = {}
    for variant in results.variants:
        # A variant of an override has the runs of another variant.
        if variant.override is None:
            by_id.update({record["run_id"]: record for record in variant.runs})
    return list(by_id.values())


def variant_of(results: Results, record: JsonObject) -> str:
    """Return the variant of a run."""
    return next(v.name for v in results.variants if any(r is record for r in v.runs))


def counts(results: Results) -> dict[str, int]:
    """Return the number of runs with each status, and of runs without a record."""
    statuses = [record["status"] for record in runs(results)]
    numbers = {status: statuses.count(status) for status in ("finished", "diverged", "failed")}
    return numbers | {"without a record": results.missing}


def _metrics(results: Results) -> list[str]:
    """Return the metrics with values by length, the main metric of the study first."""
    names = []
    for name, entry in metrics.BY_NAME.items():
        is_by_length = isinstance(entry, LengthMetric)
        if is_by_length and any(_has(variant, results, name) for variant in results.variants):
            names.append(name)
    headline = views.headline(results)
    return sorted(names, key=lambda name: name != headline)


def _has(variant: Variant, results: Results, metric: str) -> bool:
    for length, offset in itertools.product(results.lengths, results.offsets):
        values = variant.values(length, offset, metric)
        if any(value is not None for value in values):
            return True
    return False


def _variant(variant: Variant, results: Results, names: list[str], style: Style) -> JsonObject:
    counts = compare.extrapolation_counts(variant, results.spec.extrapolation)
    statuses = [record["status"] for record in variant.runs]
    values = {}
    for name in names:
        values[name] = [
            [_cell(variant, length, offset, name) for length in results.lengths]
            for offset in results.offsets
        ]
    return {
        "task": variant.task,
        "reveals_target_length": variant.reveals_target_length,
        "apart": comparable.apart(results, variant, results.spec.extrapolation.point),
        "solved": [variant.solved, len(variant.runs)],
        "unsolved": variant.is_unsolved,
        "is_text": variant.has_text,
        "bad": [statuses.count("diverged"), statuses.count("failed")],
        "extrapolates": [counts.extrapolating, counts.count],
        "trained": variant.max_length,
        "color": style.color,
        "shape": _SHAPES[style.marker],
        "dash": style.dash or (1.0, 0.0),
        "values": values,
    }


def _cell(variant: Variant, length: int, offset: int, metric: str) -> JsonObject:
    """Return the values of the seeds ("s"), their center ("c", "k" is its kind) and its interval
    ("i", "w" is its kind).

    Without values, "w" is the reason and the only key.
    """
    values = variant.values(length, offset, metric)
    center = statistics.center([value for value in values if value is not None])
    if center is None:
        return {"w": _reason(variant, length, offset)}
    cell = {"s": [_short(v) for v in values], "c": _short(center.point), "k": center.name}
    interval = center.interval
    if interval is not None:
        cell |= {"i": [_short(interval.low), _short(interval.high)], "w": interval.kind}
    return cell


def _reason(variant: Variant, length: int, offset: int) -> str:
    """Return the reason why a variant has no value at a length and an offset."""
    if not variant.finished:
        return "no run has finished"
    reasons = [run.reason(length, offset) for run in variant.measured]
    return next((reason for reason in reasons if reason), "not measured")


def _run(record: JsonObject, differs: JsonObject, origins: list[Any]) -> JsonObject:
    origin = record["provenance"]
    if origin not in origins:
        origins.append(origin)
    curve = record["curve"]
    lengths = sorted({int(length) for point in curve for length in point["exact_match"]})
    points = []
    for point in curve:
        exact = [_short(point["exact_match"].get(str(length))) for length in lengths]
        points.append([point["step"], _short(point["loss"]), *exact])
    return {
        "id": record["run_id"],
        "seed": record["member"]["seed"],
        "status": record["status"],
        "error": record["error"],
        "solved": validation.solved(record),
        "member": record["member"],
        "config": differs,
        "origin": origins.index(origin),
        "cost": record["cost"],
        "exposure": record["exposure"],
        "curve": {"lengths": lengths, "points": points},
    }


def _short(value: Any) -> Any:
    """Round a number to five digits. Other values stay as they are."""
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _flat(config: JsonObject, path: str = "") -> JsonObject:
    """Return the settings by dotted path. The spec of a plugin is one value."""
    settings: dict[str, Any] = {}
    for key, value in config.items():
        is_group = isinstance(value, Mapping) and "name" not in value
        if is_group:
            settings |= _flat(value, f"{path}{key}.")
        else:
            settings[f"{path}{key}"] = value
    return settings
