"""The names that analysis specs know: the metrics of a run, and counts of the runs of a variant.

A metric is a file of `pe_lab/metrics`. A count is an entry here, and cells.py counts.
"""

from pe_lab.metrics import base
from pe_lab.metrics.base import MeasuredMetric, Metric

CHANCE_CORRECTED = "chance_corrected_token_accuracy"
BITS = "bits_per_token"
BITS_SLIDING = "bits_per_token_sliding"


class RunCount(Metric):
    """A number of runs, or a setting. It has no value for one run."""

    style = "count"

    def __init__(
        self,
        name: str,
        label: str,
        *,
        by_offset: bool = False,
        of_training: bool = False,
        at_extrapolation: bool = False,
    ):
        super().__init__(name)
        self.label = label
        self.by_offset = by_offset
        self.of_training = of_training
        self.at_extrapolation = self.by_length = at_extrapolation


COUNTS = (
    RunCount("extrapolates", "seeds that extrapolate"),
    RunCount("solved", "solved", of_training=True),
    RunCount("seeds", "seeds", of_training=True),
    RunCount("chosen", "chosen", of_training=True),
    RunCount("tied", "tied settings", by_offset=True, at_extrapolation=True),
    RunCount("every_seed", "each seed", by_offset=True, at_extrapolation=True),
)


def _by_name() -> dict[str, Metric]:
    """The counts, and the metrics whose values are numbers."""
    entries: dict[str, Metric] = {}
    for name, metric in base.by_name().items():
        # A list over tokens or attributes is no number of a table.
        is_list = isinstance(metric, MeasuredMetric) and metric.is_list
        if not is_list:
            entries[name] = metric
    return entries | {count.name: count for count in COUNTS}


BY_NAME = _by_name()
