"""The guide's two trained models, sinusoidal and learned, inspected during their training."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from docs.build.guide.numbers import named_cosines
from pe_lab.contrib.inspection import similarity
from pe_lab.contrib.inspection.trained.findings import Findings
from pe_lab.contrib.inspection.trained.four_terms import TERMS
from pe_lab.contrib.inspection.trained.run_inspection import inspect_run
from pe_lab.contrib.inspection.trained.sections import training_course
from pe_lab.results.plots import drawing
from pe_lab.runs import grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.sweeps import plans, sweep
from pe_lab.sweeps.launchers.local import Local
from pe_lab.sweeps.study import expand
from pe_lab.training.trained_runs import load, params_through_training

_EXAMPLES = 128
_EVERY = 50  # steps between two inspected states


def train(values: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Train both with a config's values in a folder. Return the run id of each encoding.

    Raises:
      UserError: a training failed, or diverged.
    """
    longest = values["train"]["max_length"]
    values = {
        **values,
        "checkpoints": {**values["checkpoints"], "keep_curve": True},
        "evaluate": {
            **values["evaluate"],
            "curve_every": _EVERY,
            "curve_lengths": (longest,),
            "lengths": (longest,),
        },
    }
    learned = {"name": "learned", "max_positions": 2 * longest + 2}
    points = grid.product(
        {"model.encodings": [({"name": "sinusoidal"},), grid.labelled("learned", (learned,))]}
    )
    made = expand("guide", values, points, folder)
    failed = sweep.run(plans.make(made, folder), Local(workers=2))
    failed |= {
        run_id: "it diverged"
        for run_id, record in records.read_all(folder).items()
        if record["status"] == "diverged"
    }
    if failed:
        raise UserError(f"The guide's training failed: {'; '.join(failed.values())}.")
    return {entry.labels["model.encodings"]: entry.run.run_id for entry in made.entries}


def inspect(
    run_ids: Mapping[str, str], folder: Path, pictures: Path
) -> tuple[dict[str, Any], dict[str, Float[np.ndarray, "l d"]]]:
    """Inspect both runs, and draw the sinusoidal one's course into `pictures`.

    Returns:
      The numbers, and the rows of the learned table before and after training.
    """
    findings = _findings(folder, run_ids["sinusoidal"])
    with drawing.settings():
        figure = training_course.figure(findings.course, findings.run.trained_length)
        drawing.save(figure, [pictures / "through.png"])
    tables = _tables(folder, run_ids["learned"])
    layers = sorted({row.layer for row in findings.course.terms})
    measured = {
        "shares": {f"layer {layer}": _before_and_after(findings, layer) for layer in layers},
        "input": {"before": _input(findings, 0), "after": _input(findings, -1)},
        "table": {when: order_of(E) for when, E in tables.items()},
    }
    return measured, tables


def _findings(folder: Path, run_id: str) -> Findings:
    finished = load(folder, run_id)
    length = finished.setup.run.train.max_length
    return inspect_run(
        finished, [length], _EXAMPLES, params_through_training(folder, finished.record)
    )


def _before_and_after(findings: Findings, layer: int) -> dict[str, dict[str, float]]:
    """Return a layer's shares and its attention on the token to copy, as means over heads."""
    steps = [row.state.step for row in findings.course.terms]
    means = {}
    for when, step in (("before", min(steps)), ("after", max(steps))):
        at = (step, layer)
        terms = [r for r in findings.course.terms if (r.state.step, r.layer) == at]
        heads = [r for r in findings.course.attention if (r.state.step, r.layer) == at]
        means[when] = {term: _mean([row.share(term) for row in terms]) for term in TERMS}
        means[when]["aligned"] = _mean([row.aligned for row in heads])
        means[when]["by_chance"] = _mean([row.by_chance for row in heads])
    return means


def _mean(values: Sequence[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None]))


def _input(findings: Findings, at: int) -> dict[str, Any]:
    parts = findings.course.input[at].parts
    return {
        "rms of token": parts.token_rms,
        "rms of code": parts.embedding_rms,
        **named_cosines(parts.directions),
        "four terms": parts.terms,
    }


def _tables(folder: Path, run_id: str) -> dict[str, Float[np.ndarray, "l d"]]:
    finished = load(folder, run_id)
    record = records.read(records.path_of(folder, run_id))
    _, first_params = next(iter(params_through_training(folder, record)))
    models = {"before training": finished.setup.model(first_params), "after": finished.model}
    tables = {}
    for when, model in models.items():
        learned: Any = model.answering.input_encodings[0]
        tables[when] = np.asarray(learned.table[...], np.float64)
    return tables


def order_of(E: Float[np.ndarray, "l d"]) -> dict[str, float]:
    """Return mean cosines of rows one and two apart."""
    cosines = similarity.gram(E / np.linalg.norm(E, axis=1, keepdims=True))
    return {
        "cosine of rows 1 apart": float(np.diagonal(cosines, 1).mean()),
        "cosine of rows 2 apart": float(np.diagonal(cosines, 2).mean()),
    }
