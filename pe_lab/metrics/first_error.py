"""For each index of the target, the number of examples whose first wrong token is there."""

from pe_lab.metrics.base import MeasuredMetric, Predictions, Sums


class FirstError(MeasuredMetric):
    label = "index of the first wrong token"
    style = "whole"
    is_list = True

    def sums(self, predictions: Predictions) -> Sums:
        import jax.numpy as jnp  # tables read this file without JAX

        indices = jnp.arange(predictions.num_tokens)
        is_wrong = predictions.target & ~predictions.right
        # An example without an error has an index that no token has.
        wrong_at = jnp.where(is_wrong, predictions.index, predictions.num_tokens).min(axis=1)
        is_first_error = wrong_at[:, None] == indices[None]
        counted = predictions.counted
        return Sums((is_first_error & counted[:, None]).sum(axis=0), counted.sum())

    def value(self, sums: Sums, num_tokens: int) -> list[int]:
        return [int(count) for count in sums.total[:num_tokens]]
