"""Mean negative log-likelihood of target tokens, end tokens included, in nats."""

import math

from pe_lab.metrics.base import MeasuredMetric, Predictions, Sums


class NegativeLogLikelihood(MeasuredMetric):
    label = "negative log likelihood"
    range = (0.0, math.inf)
    lower_is_better = True
    style = "number"
    needs_finite_logits = True

    def sums(self, predictions: Predictions) -> Sums:
        is_counted = predictions.target & predictions.counted[:, None]
        return Sums(predictions.losses.sum(), is_counted.sum())
