"""Share of the tokens of scored answers that are right, end tokens excluded."""

from pe_lab.metrics.base import MeasuredMetric, Predictions, Sums


class TokenAccuracy(MeasuredMetric):
    label = "token accuracy"
    range = (0.0, 1.0)

    def sums(self, predictions: Predictions) -> Sums:
        is_scored = predictions.answer & predictions.counted[:, None]
        return Sums((predictions.right & is_scored).sum(), is_scored.sum())
