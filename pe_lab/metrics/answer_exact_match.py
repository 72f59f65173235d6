"""Share of the examples whose scored answer is right, given the right scratchpad as input."""

from pe_lab.metrics.base import MeasuredMetric, Predictions, Sums


class AnswerExactMatch(MeasuredMetric):
    label = "exact match of the answer"
    range = (0.0, 1.0)
    only_if = "has_scratchpad"

    def sums(self, predictions: Predictions) -> Sums:
        return predictions.share_right(predictions.answer)
