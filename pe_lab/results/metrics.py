"""The metrics that analysis specs know by name. Each is a file of `pe_lab/metrics`."""

from typing import NoReturn

from pe_lab.metrics import base
from pe_lab.metrics.base import MeasuredMetric, Metric
from pe_lab.runs.errors import unknown

CHANCE_CORRECTED = "chance_corrected_token_accuracy"
BITS = "bits_per_token"
BITS_SLIDING = "bits_per_token_sliding"


class _Metrics(dict[str, Metric]):
    """Metrics by name. Every reader of a misspelled name gets the same sentence."""

    def __missing__(self, name: str) -> NoReturn:
        raise unknown("The list of metrics", name, self)


# A list over tokens or attributes is no number of a table.
BY_NAME = _Metrics(
    (name, metric)
    for name, metric in base.by_name().items()
    if not (isinstance(metric, MeasuredMetric) and metric.is_list)
)


def range_of_difference(name: str) -> tuple[float, float]:
    """Return the smallest and the largest possible difference of two values of a metric."""
    low, high = BY_NAME[name].range
    return low - high, high - low
