"""Metrics of a text, from planted losses by index."""

import math

import pytest

from pe_lab.metrics import base
from pe_lab.metrics import negative_log_likelihood_by_place as by_place
from pe_lab.metrics.base import Limit, MeasuredRun
from pe_lab.runs.records import record_rows
from pe_lab.runs.studies.analysis_spec import Extrapolation, MetricPoint

TRAINED = 8


def run(bits_of, align="end", *, has_sizes=True):
    """A run with these bits, by length, at the last four bytes, and 9 bits before them.

    The last two bytes have one bit more, and the two before them one less. Its config has the
    lengths 8, 16 and 32.
    """
    rows = {}
    for length, value in bits_of.items():
        losses = None
        if value is not None:
            of_bytes = [9.0] * (length - 4) + [value - 1] * 2 + [value + 1] * 2
            losses = [bits * math.log(2) for bits in of_bytes]
        reason = None if losses else "the table ends"
        row = record_rows.row("test", length, 0, by_place.METRIC, losses, 32, reason)
        rows[length, 0, by_place.METRIC] = row
    exposure = {"max_length": TRAINED}
    if has_sizes:
        exposure["corpus_bytes"] = {"test": 100}
    config = {"task": {"align": align}, "evaluate": {"lengths": [8, 16, 32]}}
    record = {"config": config, "exposure": exposure}
    return MeasuredRun(record, rows, Extrapolation(MetricPoint(at=4)))


FLAT = {8: 2.0, 16: 2.005, 32: 2.01}
RISING = {8: 2.0, 16: 2.1, 32: 3.0}
FALLING = {8: 2.0, 16: 1.9, 32: 1.5}
SPIKE = {8: 2.0, 16: 2.5, 32: 1.9}
TABLE = {8: 2.0, 16: None, 32: None}


@pytest.mark.parametrize(
    ("bits", "longest", "gain"),
    [
        (FLAT, Limit(32, 1), -0.01),
        (RISING, Limit(8), -1.0),
        (FALLING, Limit(32, 1), 0.5),
        (SPIKE, Limit(8), 0.1),
        (TABLE, Limit(8), None),
        ({16: 2.0, 32: 2.0}, None, None),  # nothing at the training length
        ({8: 2.0}, Limit(8, 1), None),
        ({4: 3.0, **FALLING}, Limit(32, 1), 0.5),
    ],
)
def test_planted_losses_give_the_longest_window_and_the_gain(bits, longest, gain):
    metrics = base.by_name()
    assert metrics["longest_window"].of_run(run(bits), 0) == longest
    expected = gain if gain is None else pytest.approx(gain)
    assert metrics["context_gain"].of_run(run(bits), 0) == expected


def test_aligned_windows_score_the_same_bytes_and_others_all_of_theirs():
    metric = base.by_name()["bits_per_byte"]
    assert metric.of_length(run(RISING), 32, 0) == pytest.approx(3.0)
    assert metric.of_length(run(RISING, "start"), 32, 0) == pytest.approx((28 * 9 + 4 * 3) / 32)
    assert metric.of_length(run(RISING, has_sizes=False), 32, 0) is None
    # A length that is measured later, or another one of an override, does not change the bytes.
    for later in ({4: 3.0, **RISING}, {32: 3.0, 64: 1.0}):
        assert metric.of_length(run(later), 32, 0) == pytest.approx(3.0)
    assert metric.of_length(run({4: 3.0, **RISING}), 4, 0) is None
    for name in ("longest_window", "context_gain"):
        assert base.by_name()[name].of_run(run(FALLING, "start"), 0) is None


def test_losses_by_index_are_means_over_bins():
    row = record_rows.row(
        "test", 5, 0, by_place.METRIC, [math.log(2) * n for n in range(5)], 9, None
    )
    assert by_place.bits_by_index(row, per_octave=1) == pytest.approx(
        {1: 0.0, 2: 1.0, 4: 2.5, 5: 4.0}
    )
    assert by_place.bits_by_index({**row, "value": None}) == {}
