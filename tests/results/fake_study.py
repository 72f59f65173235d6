"""A study's folder with records made by hand, for tests of what reads them."""

import contextlib
import math

from pe_lab.metrics.base import MeasuredRun
from pe_lab.results import frame, summary
from pe_lab.runs.records import record_rows, records
from pe_lab.runs.studies.analysis_spec import MetricPoint

SOLVED = {4: 1.0}  # validation


def record(
    run_id,
    seed=0,
    *,
    test=None,
    validation=None,
    tokens=None,
    loss=None,
    status="finished",
    max_length=4,
    reveals=False,
    threshold=0.99,
    chance_levels=None,
    task="copy",
    scheme="contiguous",
    **exposure,
):
    """A complete record.

    Args:
      test: exact match by (length, offset) or by length; None is a null row.
      validation: exact match by length.
      tokens: token accuracy by (length, offset) or by length.
      loss: in validation, at the training length.
      reveals: the positions reveal the target's length.
      chance_levels: exact match by length; their token accuracy is 0.5.
      exposure: what training showed, such as max_position.
    """
    losses = {} if loss is None else {max_length: loss}
    rows = [
        *_rows("validation", "exact_match", validation),
        *_rows("validation", "negative_log_likelihood", losses),
        *_rows("test", "exact_match", test),
        *_rows("test", "token_accuracy", tokens),
    ]
    shown = {
        "steps": 100,
        "max_length": max_length,
        "length_name": "symbols",
        "max_position": 9,
        "reveals_target_length": reveals,
        "solved_threshold": threshold,
        **exposure,
    }
    levels = (chance_levels or {}).items()
    return {
        "run_id": run_id,
        "config": _config(seed, task, scheme, max_length),
        "member": {"seed": seed, "data_seed": seed, "learning_rate": 0.1, "weight_decay": 0.0},
        "status": status,
        "error": None if status == "finished" else "why",
        "rows": rows,
        "chance_levels": [
            {"length": n, "exact_match": value, "token_accuracy": 0.5, "count": 100}
            for n, value in levels
        ],
        "curve": [],
        "cost": None,
        "exposure": None if status == "failed" else shown,
        "scale_ratio": None,
        "checkpoint": None,
        "provenance": {},
    }


def _config(seed, task, scheme, max_length):
    return {
        "seed": seed,
        "task": {"name": task},
        "positions": {"name": scheme},
        "layout": {"name": "decoder", "end_token": True, "examples_per_context": 1},
        "model": {"encodings": [{"name": "rope", "reads_positions": True}]},
        "evaluate": {"lengths": [max_length, 2 * max_length], "offsets": [0]},
    }


def _rows(split, metric, values):
    return [row(metric, at, value, split) for at, value in (values or {}).items()]


def row(metric, at, value, split="test", override=None, **axes):
    """A measurement at a length or a (length, offset), with the label of an override if any."""
    length, offset = at if isinstance(at, tuple) else (at, 0)
    count, reason = (0, "the table ends") if value is None else (100, None)
    if override is not None:
        override = {"label": override, "positions": None, "encodings": None}
        override |= {"reveals_target_length": False, **axes}
    return record_rows.row(split, length, offset, metric, value, count, reason, override)


def write_study(folder, *entries, name="fake", analysis=None):
    """Write study.json and the records.

    An entry is (labels, record), or (labels, run id) of a run without a record. A label of the
    learning rate is also the rate of the record, if it is a number.
    """
    named = []
    for labels, run in entries:
        if isinstance(run, dict):
            with contextlib.suppress(ValueError):
                rate = float(labels.get("train.learning_rate", 0.1))
                run["config"].setdefault("train", {"learning_rate": rate})
            records.write(folder, run)
            run = run["run_id"]
        named.append({"labels": labels, "run_id": run})
    spec = {"analysis": analysis} if analysis else {}
    records.write_json(folder / "study.json", {"name": name, **spec, "entries": named})
    return folder


def study(folder, *entries, **analysis):
    return frame.read(write_study(folder, *entries, analysis=analysis))


def point(encodings, seed, **more):
    return {"model.encodings": encodings, "seed": str(seed), **more}


def entry(encodings, seed=0, labels=(), **changes):
    """The labels and the record of a run, which solves the training lengths unless `changes` say
    otherwise.
    """
    labels = point(encodings, seed, **dict(labels))
    return labels, record("".join(labels.values()), seed, **{"validation": SOLVED, **changes})


def texts(table):
    """The texts of a table's rows by that of their first cell."""
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def two_variants(folder):
    """RoPE: solved, not solved, diverged; ALiBi: failed, not solved and without length 8, no
    record.
    """
    solved = dict(test={4: 1.0, 8: 0.5}, validation={4: 1.0}, chance_levels={4: 0.1, 8: 0.0})
    weak = dict(test={4: 0.996, 8: 0.3}, validation={4: 0.98}, chance_levels={4: 0.2, 8: 0.0})
    return write_study(
        folder,
        (point("rope", 0), record("r0", 0, **solved)),
        (point("rope", 1), record("r1", 1, **weak)),
        (point("rope", 2), record("r2", 2, status="diverged")),
        (point("alibi", 0), record("a0", 0, status="failed")),
        (point("alibi", 1), record("a1", 1, test={4: 0.5, 8: None}, validation={4: 0.5})),
        (point("alibi", 2), "a2"),
    )


def values(study, variant, length, offset=0, metric="exact_match"):
    """The values of a variant's runs at a length; None without one."""
    at = MetricPoint(length=length, offset=offset)
    numbers = summary.values_at(study, study.cases_of(variant), metric, at)["value"]
    return [None if math.isnan(number) else number for number in numbers]


def measured(run, override=None, **more):
    """A record as metrics read it."""
    rows = {
        (each["length"], each["offset"], each["metric"]): each
        for each in run["rows"]
        if each["split"] == "test" and (each["override"] or {}).get("label") == override
    }
    return MeasuredRun(run, rows, **more)
