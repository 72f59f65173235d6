"""Share of the examples whose target is right at every token, its end included.

For a causal model this is the share that greedy decoding gets right.
"""

from pe_lab.metrics.base import MeasuredMetric, Predictions, Sums


class ExactMatch(MeasuredMetric):
    label = "exact match"
    range = (0.0, 1.0)

    def sums(self, predictions: Predictions) -> Sums:
        return predictions.share_right(predictions.target)
