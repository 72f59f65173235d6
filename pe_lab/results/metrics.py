"""The metrics that analysis specs know by name. Each is a file of `pe_lab/metrics`."""

from pe_lab.metrics import base
from pe_lab.metrics.base import MeasuredMetric, Metric

CHANCE_CORRECTED = "chance_corrected_token_accuracy"
BITS = "bits_per_token"
BITS_SLIDING = "bits_per_token_sliding"


def _by_name() -> dict[str, Metric]:
    """Return the metrics whose values are numbers."""
    entries: dict[str, Metric] = {}
    for name, metric in base.by_name().items():
        # A list over tokens or attributes is no number of a table.
        is_list = isinstance(metric, MeasuredMetric) and metric.is_list
        if not is_list:
            entries[name] = metric
    return entries


BY_NAME = _by_name()
