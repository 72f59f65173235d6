"""Data of a run on the page: its curve, settings and provenance."""

from collections.abc import Sequence

from pe_lab.runs.records.record_schema import JsonObject

_DIGITS = 5


def of(
    record: JsonObject, differs: JsonObject, origins: list[object], *, solved: bool, is_text: bool
) -> JsonObject:
    """Return a run of the page.

    Args:
      differs: its settings that differ between runs.
      origins: the provenances of the page, to which that of the run is added.
      is_text: its task is a text, which has nothing to solve.
    """
    origin = dict(record["provenance"])
    started = origin.pop("started", None)  # all else is the same in most runs
    if origin not in origins:
        origins.append(origin)
    exposure = record["exposure"]
    if is_text and exposure is not None:
        exposure = {name: exposure[name] for name in exposure if name != "solved_threshold"}
    return {
        "id": record["run_id"],
        "seed": record["member"]["seed"],
        "status": record["status"],
        "error": record["error"],
        "solved": None if is_text else solved,
        "member": record["member"],
        "config": differs,
        "origin": origins.index(origin),
        "started": started,
        "cost": record["cost"],
        "exposure": exposure,
        "curve": _curve(record["curve"], is_text=is_text),
    }


def _curve(curve: Sequence[JsonObject], *, is_text: bool) -> JsonObject:
    """Return the training loss, and exact match or the validation loss of a text, by length."""
    name = "validation_loss" if is_text else "exact_match"
    measured = [point.get(name) or {} for point in curve]
    lengths = sorted({int(length) for values in measured for length in values})
    points = []
    for point, values in zip(curve, measured, strict=True):
        numbers = [short(values.get(str(length))) for length in lengths]
        points.append([point["step"], short(point["loss"]), *numbers])
    return {"name": name.replace("_", " "), "lengths": lengths, "points": points}


def short(value: object) -> object:
    """Round a number to five digits. Other values stay as they are."""
    return float(f"{value:.{_DIGITS}g}") if isinstance(value, float) else value
