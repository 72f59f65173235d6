"""Share of the examples whose target is right at every token but the end token."""

from pe_lab.metrics.base import MeasuredMetric, Predictions, Sums


class ExactMatchWithoutEnd(MeasuredMetric):
    label = "exact match without the end token"
    range = (0.0, 1.0)

    def sums(self, predictions: Predictions) -> Sums:
        return predictions.share_right(predictions.target & ~predictions.is_end)
