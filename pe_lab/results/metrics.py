"""The names that analysis specs know: metrics of runs, and further summaries of variants.

A metric is a file of `pe_lab/metrics`. A summary here shows another metric in a way of its own, or
tells something about the runs of a variant.
"""

from pe_lab.metrics import base
from pe_lab.metrics.base import MeasuredMetric, Metric

CHANCE_CORRECTED = "chance_corrected_token_accuracy"
BITS = "bits_per_token"
BITS_SLIDING = "bits_per_token_sliding"


class VariantSummary(Metric):
    """A summary of the runs of a variant, without a number of its own for one run.

    Attributes:
      show: the summary, of results/summary.py.
      by_length: it reads exact match (bits per token for a text), at the point of extrapolation
        unless a point is stated.
    """

    style = "count"

    def __init__(self, name: str, label: str, show: str, *, by_length: bool = False):
        super().__init__(name)
        self.label = label
        self.show = show
        self.by_length = self.by_offset = self.at_extrapolation = by_length
        self.of_training = not by_length


SUMMARIES = (
    VariantSummary("seeds", "seeds", "finished"),
    VariantSummary("chosen", "chosen", "setting"),
    VariantSummary("tied", "tied settings", "tied", by_length=True),
    VariantSummary("every_seed", "each seed", "seeds", by_length=True),
)


def _by_name() -> dict[str, Metric]:
    """The summaries, and the metrics whose values are numbers."""
    entries: dict[str, Metric] = {}
    for name, metric in base.by_name().items():
        # A list over tokens or attributes is no number of a table.
        is_list = isinstance(metric, MeasuredMetric) and metric.is_list
        if not is_list:
            entries[name] = metric
    return entries | {summary.name: summary for summary in SUMMARIES}


BY_NAME = _by_name()
