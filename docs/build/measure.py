"""Measurements and pictures that pages show. They are committed, because most take minutes."""

from collections.abc import Callable
from pathlib import Path

from docs.build import (
    corpora,
    coverage,
    encodings,
    initialization,
    performance,
    statistics,
    tasks,
    tour,
)
from docs.build.guide import measure as guide
from pe_lab.runs import config
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records import records
from pe_lab.studies import base
from pe_lab.training.provenance import provenance


def chance_levels(root: Path) -> None:
    """Measure the chance levels of all tasks."""
    source = provenance(config.from_dict(base.get_config().to_dict()))
    measurements = {}
    for name in plugins.names("tasks"):
        measurement = tasks.measure(name, tasks.NUM_EXAMPLES)
        measurements[name] = measurement
        levels = measurement["chance_levels"]
        summary = [f"{level['token_accuracy']:.3f} at {level['length']}" for level in levels]
        print(f"{name}: {', '.join(summary) or measurement['reason']}", flush=True)
    record = {"num_examples": tasks.NUM_EXAMPLES, "provenance": source, "tasks": measurements}
    records.write_json(root / tasks.RECORD, record)


def corpus_entropy(root: Path) -> None:
    """Measure the bits per byte of `stories` for count models of different contexts."""
    records.write_json(root / corpora.RECORD, corpora.measure())


def interval_coverage(root: Path) -> None:
    """Simulate how often intervals cover the truth."""
    records.write_json(root / statistics.RECORD, coverage.simulate())


def scorecard(root: Path) -> None:
    """Measure and draw every encoding."""
    file = root / encodings.SCORECARD
    file.parent.mkdir(parents=True, exist_ok=True)
    rows = {}
    for name in plugins.names("encodings"):
        rows[name] = encodings.measure(name)
        encodings.draw(name, file.parent)
        print(name, flush=True)
    records.write_json(file, rows)


# name -> (function, what it does and how long it takes)
MEASUREMENTS: dict[str, tuple[Callable[[Path], None], str]] = {
    "chance_levels": (chance_levels, "chance levels of all tasks: one minute"),
    "corpora": (corpus_entropy, "bits per byte of the corpus `stories`: three minutes"),
    "coverage": (interval_coverage, "coverage of intervals, by simulation: ten minutes"),
    "guide": (guide.measure, "numbers and pictures of the guide: two minutes"),
    "initialization": (
        initialization.measure,
        "logits and gradients of untrained models: three minutes",
    ),
    "performance": (performance.draw, "the picture of docs/performance.md: a second"),
    "scorecard": (scorecard, "properties and pictures of all encodings: two minutes"),
    "tour": (tour.write, f"outputs of {tour.TOUR}: two minutes"),
}
