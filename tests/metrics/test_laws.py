"""Every metric declares what readers need, and every compiled part adds up over examples."""

import dataclasses
import math
import subprocess
import sys

import numpy as np
import pytest

from pe_lab.contrib.laws.predictions import predictions
from pe_lab.metrics import base
from pe_lab.metrics.base import LengthMetric, MeasuredMetric, RunMetric
from pe_lab.metrics.chance_corrected_token_accuracy import chance_corrected
from pe_lab.results import metrics

BY_NAME = base.by_name()
CORRECTED = "chance_corrected_token_accuracy"
MEASURED = [metric for metric in BY_NAME.values() if isinstance(metric, MeasuredMetric)]
STYLES = ("share", "number", "bits", "small", "whole", "power", "limit", "first_step", "count")


# Prompts of one token, answers of one or two, and an end token. The last example is wrong twice.
PREDICTIONS = predictions(
    target=[[0, 1, 1, 1], [0, 1, 1, 0], [0, 1, 1, 1], [0, 1, 1, 1]],
    right=[[0, 1, 1, 1], [1, 1, 0, 1], [1, 1, 0, 1], [0, 0, 0, 1]],
    answer=[[0, 1, 1, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 1, 1, 0]],
    is_end=[[0, 0, 0, 1], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 1]],
    attributes=[[2, 0], [2, 3], [0, 3], [0, 3]],
)
# What a metric reads of each example.
PER_EXAMPLE = (
    "logits",
    "labels",
    "target",
    "answer",
    "is_end",
    "index",
    "right",
    "losses",
    "attributes",
)


def value(name):
    metric = BY_NAME[name]
    sums = metric.sums(PREDICTIONS)
    return metric.value(base.Sums(np.asarray(sums.total), np.asarray(sums.weight)), 3)


@pytest.mark.parametrize("name", BY_NAME)
def test_a_metric_declares_its_label_and_a_known_style(name):
    metric = BY_NAME[name]
    assert metric.name == name
    assert metric.label
    assert metric.style in STYLES
    assert isinstance(metric, LengthMetric | RunMetric)
    assert type(metric).__doc__ or sys.modules[type(metric).__module__].__doc__


def test_shares_and_likelihoods_declare_their_possible_range():
    """Intervals end there. The chance level of the corrected accuracy decides its lower end."""
    assert all(
        metric.range == (0.0, 1.0)
        for metric in BY_NAME.values()
        if metric.style == "share" and metric.name not in ("retention", CORRECTED)
    )
    assert BY_NAME[CORRECTED].range == (-math.inf, 1.0)
    assert BY_NAME["bits_per_token"].range == (0.0, math.inf)


@pytest.mark.parametrize("metric", MEASURED, ids=lambda metric: metric.name)
def test_sums_over_parts_add_up_to_those_of_the_whole(metric):
    def part(rows):
        parts = {name: getattr(PREDICTIONS, name)[rows] for name in (*PER_EXAMPLE, "counted")}
        return dataclasses.replace(PREDICTIONS, **parts)

    whole, first, second = (
        metric.sums(part(rows)) for rows in (slice(None), slice(1), slice(1, None))
    )
    np.testing.assert_array_equal(whole.total, first.total + second.total)
    np.testing.assert_array_equal(whole.weight, first.weight + second.weight)


@pytest.mark.parametrize("metric", MEASURED, ids=lambda metric: metric.name)
def test_examples_that_are_not_counted_change_no_sum(metric):
    counted = np.asarray([True, True, False, True])
    less = dataclasses.replace(
        PREDICTIONS,
        counted=counted,
        losses=np.where(counted[:, None], PREDICTIONS.losses, 0),
    )
    others = {name: getattr(less, name)[counted] for name in (*PER_EXAMPLE, "counted")}
    without = dataclasses.replace(less, **others)
    for one, other in zip(metric.sums(less), metric.sums(without), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("exact_match", 1 / 4),
        ("exact_match_without_end", 2 / 4),
        ("exact_match_by_attribute", [[[0, 2, 0], [2, 2, 1]], [[0, 1, 1], [3, 3, 0]]]),
        ("answer_exact_match", 2 / 4),
        ("token_accuracy", 3 / 6),
        ("first_error", [1, 2, 0]),
        ("negative_log_likelihood", (7 * 0.25 + 4 * 2.0) / 11),
        ("negative_log_likelihood_by_place", [(3 * 0.25 + 2) / 4, (0.25 + 6) / 4, 0.25]),
    ],
)
def test_measured_values_by_hand(name, expected):
    is_nested = isinstance(expected, list) and isinstance(expected[0], list)
    assert value(name) == (expected if is_nested else pytest.approx(expected))


@pytest.mark.parametrize(
    ("accuracy", "chance_level", "expected"),
    [(0.75, 0.5, 0.5), (0.4, 0.5, -0.2), (0.5, 0.5, 0.0), (1.0, 1.0, None)],
)
def test_the_corrected_accuracy_by_hand(accuracy, chance_level, expected):
    corrected = chance_corrected(accuracy, chance_level)
    assert corrected == (expected if expected is None else pytest.approx(expected))


def test_analysis_specs_know_every_metric_that_is_a_number():
    lists = {metric.name for metric in MEASURED if metric.is_list}
    assert "first_error" in lists
    assert set(metrics.BY_NAME) == set(BY_NAME) - lists


@pytest.mark.slow
def test_tables_read_all_metrics_without_jax():
    program = "import sys; sys.modules['jax'] = None; import pe_lab.results.tables"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr
