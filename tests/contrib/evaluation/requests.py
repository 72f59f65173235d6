"""Requests for evaluations of finished runs."""

from pe_lab.contrib.evaluation import measure
from pe_lab.runs.records import records

ROPE = dict(name="rope", base=500.0)
LEARNED = dict(name="learned", max_positions=13)
WORDS = dict(model=dict(encodings="rope")), dict(model=dict(encodings="learned"))
FAST = dict(
    model__num_layers=1,
    train__learning_rate=1e-2,
    train__steps=40,
    evaluate__curve_every=40,
    execution__chunk_steps=40,
)


def ask(*lengths, offsets=(0,), only_missing=False, select=None, **override):
    return measure.EvaluationRequest(lengths, offsets, override or None, select or {}, only_missing)


def read(folder):
    """The records by encoding and seed."""
    return {
        (r["config"]["model"]["encodings"][0]["name"], r["member"]["seed"]): r
        for r in records.read_all(folder).values()
    }
