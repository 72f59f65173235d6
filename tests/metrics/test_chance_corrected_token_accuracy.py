"""Chance-corrected accuracy of a run, as trained and with evaluation overrides."""

import pytest

from pe_lab.metrics import base
from pe_lab.runs.records import record_rows
from tests.results.fake_study import measured

METRIC = base.by_name()["chance_corrected_token_accuracy"]
OVERRIDE = {"label": "o", "positions": None, "encodings": None}


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        (None, 0.5),
        ({**OVERRIDE, "num_loops": 2}, 0.5),
        ({**OVERRIDE, "task": {"name": "addition", "operands": 3}}, None),
    ],
)
def test_the_chance_level_of_the_trained_task_corrects_no_other_task(override, expected):
    row = record_rows.row("test", 8, 0, "token_accuracy", 0.75, 64, override=override)
    level = {"length": 8, "token_accuracy": 0.5, "exact_match": 0.0, "count": 64}
    record = {"rows": [row], "chance_levels": [level], "exposure": None}
    run = measured(record, override and "o")
    assert METRIC.of_length(run, 8, 0) == expected
