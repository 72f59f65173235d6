"""What the guide says of trained models: two runs of one recipe, sinusoidal and learned, looked at
through their training.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from docs.build.guide.numbers import named_directions
from pe_lab.inspection import similarity
from pe_lab.inspection.trained.findings import Findings
from pe_lab.inspection.trained.four_terms import TERMS
from pe_lab.inspection.trained.run_inspection import inspect_run
from pe_lab.inspection.trained.sections import training_course
from pe_lab.results.plots import drawing
from pe_lab.runs import grid, records
from pe_lab.runs.errors import UserError
from pe_lab.sweeps import sweep
from pe_lab.sweeps.launchers.local import Local
from pe_lab.sweeps.study import expand
from pe_lab.training.trained_runs import load, params_through_training

ENCODINGS = ("sinusoidal", "learned")
_EXAMPLES = 128
_EVERY = 50  # steps between the points that are looked at


def train(values: Mapping[str, Any], folder: Path) -> dict[str, str]:
    """Trains both by a config's values into a folder; the run of each, by encoding.

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
    failed = sweep.run(sweep.plan(made, folder), Local(workers=2))
    failed |= {
        run_id: "it diverged"
        for run_id, record in records.read_all(folder).items()
        if record["status"] == "diverged"
    }
    if failed:
        raise UserError(f"The guide's training failed: {'; '.join(failed.values())}.")
    return {entry.labels["model.encodings"]: entry.run.run_id for entry in made.entries}


def look(
    runs: Mapping[str, str], folder: Path, pictures: Path
) -> tuple[dict[str, Any], dict[str, Float[np.ndarray, "l d"]]]:
    """The numbers of both; the learned rows before and after training. Draws the sinusoidal one's
    shares into `pictures`.
    """
    found = _inside(folder, runs["sinusoidal"])
    with drawing.settings():
        figure = training_course.figure(found.course, found.run.trained_length)
        drawing.save(figure, [pictures / "through.png"])
    tables = _tables(folder, runs["learned"])
    return {
        "shares": {
            f"layer {layer}": _ends(found, layer)
            for layer in sorted({row.layer for row in found.course.terms})
        },
        "input": {when: _input(found, at) for when, at in (("before", 0), ("after", -1))},
        "solved at": found.course.solved_at,
        "table": {when: order_of(E) for when, E in tables.items()},
    }, tables


def _inside(folder: Path, run_id: str) -> Findings:
    finished = load(folder, run_id)
    length = finished.setup.run.train.max_length
    return inspect_run(
        finished, [length], _EXAMPLES, params_through_training(folder, finished.record)
    )


def _ends(found: Findings, layer: int) -> dict[str, dict[str, float]]:
    """A layer's shares, and its heads' attention on the token that the task names, before and after
    training: means over heads.
    """
    steps = [row.state.step for row in found.course.terms]
    ends = {"before": min(steps), "after": max(steps)}
    means = {}
    for when, step in ends.items():
        at = (step, layer)
        terms = [r for r in found.course.terms if (r.state.step, r.layer) == at]
        heads = [r for r in found.course.attention if (r.state.step, r.layer) == at]
        means[when] = {term: _mean([row.share(term) for row in terms]) for term in TERMS}
        means[when]["aligned"] = _mean([row.aligned for row in heads])
        means[when]["by_chance"] = _mean([row.by_chance for row in heads])
    return means


def _mean(values: Sequence[float | None]) -> float:
    return float(np.mean([value for value in values if value is not None]))


def _input(found: Findings, at: int) -> dict[str, Any]:
    parts = found.course.input[at].parts
    return {
        "rms of token": parts.token_rms,
        "rms of code": parts.embedding_rms,
        **named_directions(parts.directions),
        "four terms": parts.terms,
    }


def _tables(folder: Path, run_id: str) -> dict[str, Float[np.ndarray, "l d"]]:
    finished = load(folder, run_id)
    kept = [
        params
        for _, params in params_through_training(
            folder, records.read(records.path_of(folder, run_id))
        )
    ]
    models = {"before training": finished.setup.model(kept[0]), "after": finished.model}
    tables = {}
    for when, model in models.items():
        learned: Any = model.answering.input_encodings[0]
        tables[when] = np.asarray(learned.table[...], np.float64)
    return tables


def order_of(E: Float[np.ndarray, "l d"]) -> dict[str, float | None]:
    """How alike rows one and two apart are, and whether of two rows the nearer is the more
    similar.
    """
    K = similarity.gram(E / np.linalg.norm(E, axis=1, keepdims=True))
    place = np.arange(len(E))
    return {
        **{
            f"cosine of rows {apart} apart": float(np.diagonal(K, apart).mean()) for apart in (1, 2)
        },
        "nearer is more similar": similarity.nearer_is_more_similar(
            K, np.abs(place[:, None] - place[None]).astype(np.float64)
        ),
    }
