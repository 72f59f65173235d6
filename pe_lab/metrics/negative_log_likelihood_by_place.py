"""Mean negative log-likelihood of each index of a target, in nats, for tasks on text.

A row of this metric holds, for windows of one length at random places of a text, the mean at each
index. Two protocols of the field are means over indices:

    windows that do not overlap  the mean over all indices, also those with little context
    a window that slides by s    the mean over the last s indices of each window

One evaluation gives both, for every s. Press et al. 2021 (https://arxiv.org/abs/2108.12409) use
both. `mean`, `perplexity` and `bits_per_byte` compute them. Windows must be full, as in
language_model. In texts of uneven length (aligned_text) a mean over indices is no mean over bytes;
the row negative_log_likelihood is.
"""

import functools
import math

import numpy as np

from pe_lab.metrics.base import MeasuredMetric, Predictions, Sums
from pe_lab.runs.errors import UserError
from pe_lab.runs.records.record_schema import JsonObject

METRIC = "negative_log_likelihood_by_place"


class NegativeLogLikelihoodByPlace(MeasuredMetric):
    label = "negative log likelihood of each index"
    lower_is_better = True
    style = "number"
    only_if = "is_text"
    needs_finite_logits = True
    is_list = True

    def sums(self, predictions: Predictions) -> Sums:
        import jax  # tables read this file without JAX
        import jax.numpy as jnp

        is_counted = predictions.target & predictions.counted[:, None]
        sum_by_index = functools.partial(
            jax.ops.segment_sum,
            # Tokens before the target have index -1; their loss and their count are 0.
            segment_ids=jnp.maximum(predictions.index, 0).ravel(),
            num_segments=predictions.num_tokens,
        )
        return Sums(
            sum_by_index(predictions.losses.ravel()),
            sum_by_index(is_counted.astype(jnp.int32).ravel()),
        )

    def value(self, sums: Sums, num_tokens: int) -> list[float | None]:
        """The mean of each index; None for an index that no target reaches.

        Each has the digits of a float32, as its sum. With those of a float64, records of long texts
        are twice as large.
        """
        means: list[float | None] = []
        for total, count in zip(sums.total[:num_tokens], sums.weight[:num_tokens], strict=True):
            means.append(float(str(np.float32(total / count))) if count else None)
        return means


def mean(row: JsonObject, stride: int | None = None) -> float | None:
    """The mean in nats per symbol; None if the row has no value, or an index has none.

    Args:
      row: of a record. An end token after the window does not count.
      stride: of a sliding window; None: windows do not overlap.

    Raises:
      UserError: the row is of another metric, or no window can slide by the stride.
    """
    if row["metric"] != METRIC:
        raise UserError(f"Perplexity needs a row of {METRIC}, got one of {row['metric']}.")
    length = row["length"]
    last = length if stride is None else stride
    if not 1 <= last <= length:
        raise UserError(
            f"A window of {length} places can slide by 1 to {length}, got stride={stride}."
        )
    if row["value"] is None:
        return None
    of_window = row["value"][length - last : length]
    if None in of_window:
        return None
    return math.fsum(of_window) / last


def bits_by_index(row: JsonObject, per_octave: int = 4) -> dict[int, float]:
    """The bits of a row by index, from 1, as means over bins of equal width on a log axis.

    Returns:
      The mean of each bin with values, by the last index of the bin.
    """
    length = row["length"]
    values = (row["value"] or [])[:length]
    num_bins = math.floor(math.log2(length) * per_octave)
    ends = {round(2 ** (index / per_octave)) for index in range(num_bins + 1)}
    means = {}
    start = 0
    for end in sorted({*ends, length}):
        known = [value for value in values[start:end] if value is not None]
        if known:
            means[end] = math.fsum(known) / len(known) / math.log(2)
        start = end
    return means


def perplexity(row: JsonObject, stride: int | None = None) -> float | None:
    """The exponential of the mean: per byte, if symbols are bytes."""
    nats = mean(row, stride)
    return None if nats is None else math.exp(nats)


def bits_per_byte(row: JsonObject, stride: int | None = None) -> float | None:
    """The mean in bits."""
    nats = mean(row, stride)
    return None if nats is None else nats / math.log(2)
