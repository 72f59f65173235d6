"""What the page knows: every number by variant, metric, offset and length, and every run with its
curve and origin.

Keys are short and what runs share stands once, because a page of 500 runs is to stay small.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from pe_lab.results import cells, compare, metrics
from pe_lab.results.cells import SEEN
from pe_lab.results.metrics import BITS, BITS_SLIDING, CHANCE_CORRECTED
from pe_lab.results.plots import drawing, styles
from pe_lab.results.results import Results, Variant
from pe_lab.runs.record_schema import JsonObject

_LABELS = {
    "exact_match": "exact match",
    "exact_match_without_end": "exact match without the end token",
    "answer_exact_match": "exact match of the answer",
    "token_accuracy": "token accuracy",
    CHANCE_CORRECTED: "token accuracy over the chance level",
    "negative_log_likelihood": "negative log-likelihood (nats a token)",
    BITS: "bits a token",
    BITS_SLIDING: "bits a token, second half of each window",
}
_UNBOUNDED = ("negative_log_likelihood", BITS, BITS_SLIDING)
_DIGITS = 5
_SHAPES = {  # Vega's names, or paths, of matplotlib's markers
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


def of(results: Results, chosen: Results) -> dict[str, Any]:
    """All of it, as JSON has it.

    Args:
      chosen: the same results after selection.
    """
    by_length = [entry.name for entry in metrics.METRICS if entry.of_length is not None]
    names = [name for name in by_length if any(_has(v, results, name) for v in results.variants)]
    settings = [_flat(r["config"]) for r in runs(results)]
    common = {
        path: value
        for path, value in settings[0].items()
        if all(s.get(path) == value for s in settings[1:])
    }
    origins: list[Any] = []
    kept = {tuple(map(id, v.runs)) for v in chosen.variants}
    of_run = {
        id(r): i for i, v in enumerate(results.variants) if v.override is None for r in v.runs
    }
    return {
        "study": results.name,
        "length": results.length_name,
        "lengths": results.lengths,
        "offsets": results.offsets,
        "tasks": list(dict.fromkeys(v.task for v in results.variants)),
        "metrics": [{"name": n, "label": _LABELS[n], "share": n not in _UNBOUNDED} for n in names],
        "extrapolation": str(results.spec.extrapolation),
        "variants": [
            _variant(v, results, names, dash) | {"chosen": tuple(map(id, v.runs)) in kept}
            for v, dash in zip(results.variants, _dashes(results.variants), strict=True)
        ],
        "common": common,
        "origins": origins,
        "runs": [
            _run(
                r,
                of_run[id(r)],
                {p: v for p, v in setting.items() if common.get(p, _flat) != v},
                origins,
            )
            for r, setting in zip(runs(results), settings, strict=True)
        ],
    }


def runs(results: Results) -> list[JsonObject]:
    """Every record once."""
    return list(
        {r["run_id"]: r for v in results.variants if v.override is None for r in v.runs}.values()
    )


def label(results: Results, record: JsonObject) -> str:
    """The variant of a run."""
    return next(v.name for v in results.variants if any(r is record for r in v.runs))


def counts(results: Results) -> dict[str, int]:
    """Runs by what became of them."""
    statuses = [r["status"] for r in runs(results)]
    return {s: statuses.count(s) for s in ("finished", "diverged", "failed")} | {
        "without a record": results.missing
    }


def _has(variant: Variant, results: Results, metric: str) -> bool:
    return any(
        v is not None
        for n in results.lengths
        for offset in results.offsets
        for v in variant.values(n, offset, metric)
    )


def _dashes(variants: Iterable[Variant]) -> list[tuple[float, ...]]:
    """Solid for the first variant of an encoding in a task; those that follow differ, as far as
    there are dashes.
    """
    seen: dict[Any, int] = {}
    found: list[tuple[float, ...]] = []
    for variant in variants:
        key = (variant.task, drawing.style(variant))
        found.append(styles.DASHES[seen.setdefault(key, 0) % len(styles.DASHES)])
        seen[key] += 1
    return found


def _variant(
    variant: Variant, results: Results, names: list[str], dash: tuple[float, ...]
) -> dict[str, Any]:
    style = drawing.style(variant)
    counts = compare.extrapolation_counts(variant, results.spec.extrapolation)
    return {
        "name": drawing.named(variant).replace("\u00a0", " ")
        + (f" {SEEN}" if SEEN in cells.name(results, variant).text else ""),
        "task": variant.task,
        "reveals_target_length": variant.reveals_target_length,
        "apart": compare.apart(results, variant, results.spec.extrapolation.point),
        "solved": [variant.solved, len(variant.runs)],
        "bad": [sum(r["status"] == s for r in variant.runs) for s in ("diverged", "failed")],
        "extrapolates": [counts.extrapolating, counts.count],
        "trained": variant.max_length,
        "color": style.color,
        "shape": _SHAPES[style.marker],
        "dash": dash or (1.0, 0.0),
        "values": {
            name: [
                [_cell(variant, n, offset, name) for n in results.lengths]
                for offset in results.offsets
            ]
            for name in names
        },
    }


def _cell(variant: Variant, length: int, offset: int, metric: str) -> dict[str, Any]:
    """Every seed ("s"), their centre ("c", of kind "k") and its interval ("i", of kind "w"); why
    there is none of them ("w").
    """
    values = variant.values(length, offset, metric)
    centre = drawing.centre(values)
    if centre is None:
        why = next(
            (reason for run in variant.measured if (reason := run.reason(length, offset))),
            "not measured",
        )
        return {"w": why if variant.finished else "no run has finished"}
    cell = {"s": [_short(v) for v in values], "c": _short(centre.point), "k": centre.name}
    if centre.interval is None:
        return cell
    return cell | {
        "i": [_short(centre.interval.low), _short(centre.interval.high)],
        "w": centre.interval.kind,
    }


def _run(
    record: JsonObject, variant: int, differs: dict[str, Any], origins: list[Any]
) -> dict[str, Any]:
    origin = record["provenance"]
    if origin not in origins:
        origins.append(origin)
    lengths = sorted({int(n) for p in record["curve"] for n in p["exact_match"]})
    return {
        "id": record["run_id"],
        "v": variant,
        "seed": record["member"]["seed"],
        "status": record["status"],
        "error": record["error"],
        "solved": metrics.solved(record),
        "member": record["member"],
        "config": differs,
        "origin": origins.index(origin),
        "cost": record["cost"],
        "exposure": record["exposure"],
        "curve": {
            "lengths": lengths,
            "points": [
                [
                    p["step"],
                    _short(p["loss"]),
                    *(_short(p["exact_match"].get(str(n))) for n in lengths),
                ]
                for p in record["curve"]
            ],
        },
    }


def _short(value: Any) -> Any:
    """A number to five digits."""
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value


def _flat(config: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """Dotted path -> value; a plugin's spec is one value."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        inner = isinstance(value, Mapping) and "name" not in value
        found |= _flat(value, f"{path}{key}.") if inner else {f"{path}{key}": value}
    return found
