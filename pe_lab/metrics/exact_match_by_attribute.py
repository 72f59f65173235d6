"""Exact match by the attributes of examples, such as the number of ones.

A task declares its attributes (pe_lab/tasks), and `evaluate.attributes` selects some of them. For
each attribute, the examples and the successes of all values add up to those of `exact_match`.
"""

from pe_lab.metrics.base import MeasuredMetric, MeasuredValue, Predictions, Sums

METRIC = "exact_match_by_attribute"


class ExactMatchByAttribute(MeasuredMetric):
    label = "exact match by attribute"
    range = (0.0, 1.0)
    is_list = True
    by_attribute = True

    def sums(self, predictions: Predictions) -> Sums:
        import jax.numpy as jnp

        assert predictions.attributes is not None
        values = jnp.arange(predictions.largest_attribute + 1)
        has_value = predictions.attributes[:, :, None] == values[None, None]  # [B, A, values]
        is_counted = has_value & predictions.counted[:, None, None]
        all_right = (predictions.right | ~predictions.target).all(axis=1)
        is_success = is_counted & all_right[:, None, None]
        return Sums(is_success.sum(axis=0), is_counted.sum(axis=0))

    def value(self, sums: Sums, num_tokens: int) -> MeasuredValue:
        """For each attribute, [value, examples, successes] of every value that occurs."""
        by_attribute = []
        for successes, counts in zip(sums.total.tolist(), sums.weight.tolist(), strict=True):
            of_values = enumerate(zip(counts, successes, strict=True))
            by_attribute.append([[value, *pair] for value, pair in of_values if pair[0]])
        return by_attribute
