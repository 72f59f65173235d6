"""Perplexity and bits per byte of a text, from the likelihoods of its places in a record.

A row of the metric `negative_log_likelihood_by_place` holds, for windows of one length at random
places of a text, the mean of each place, in nats. Two protocols of the field are means over its
places:

    windows that do not overlap  the mean over all positions, also those with little context
    a window that slides by s    the mean over the last s positions of each window

so that one evaluation gives both, for every s. Press et al. 2021 (https://arxiv.org/abs/2108.12409)
use both. Windows must be full, as those of language_model are: of texts of uneven length
(aligned_text) a mean over places is no mean over bytes, and the row negative_log_likelihood is.
"""

import math
from collections.abc import Mapping
from typing import Any

from pe_lab.runs.errors import UserError

METRIC = "negative_log_likelihood_by_place"


def mean(row: Mapping[str, Any], stride: int | None = None) -> float | None:
    """Nats a symbol; None where the row has no value.

    Args:
      row: of a record; an end token behind its places does not count.
      stride: of a sliding window; None: windows do not overlap.

    Raises:
      UserError: the row is of another metric, or the stride of no place in it.
    """
    if row["metric"] != METRIC:
        raise UserError(f"Perplexities are of rows of {METRIC}, got one of {row['metric']}.")
    length = row["length"]
    last = length if stride is None else stride
    if not 1 <= last <= length:
        raise UserError(
            f"A window of {length} places can slide by 1 to {length}, got stride={stride}."
        )
    if row["value"] is None:
        return None
    return math.fsum(row["value"][length - last : length]) / last


def perplexity(row: Mapping[str, Any], stride: int | None = None) -> float | None:
    """exp of the mean; of a byte, where symbols are bytes."""
    nats = mean(row, stride)
    return None if nats is None else math.exp(nats)


def bits_per_byte(row: Mapping[str, Any], stride: int | None = None) -> float | None:
    """The mean in bits."""
    nats = mean(row, stride)
    return None if nats is None else nats / math.log(2)
