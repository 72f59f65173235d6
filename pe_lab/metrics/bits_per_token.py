"""Mean negative log-likelihood of target tokens in bits.

Of a text of tokens, it is the mean over the tokens that `bits_per_byte` scores.
"""

import math

from pe_lab.metrics import bits_per_byte
from pe_lab.metrics.base import LengthMetric, MeasuredRun


class BitsPerToken(LengthMetric):
    label = "bits per token"
    range = (0.0, math.inf)
    caption = (
        "Per byte, if tokens are bytes. With windows that do not overlap, every position counts. "
        "The second half of each window is the result of a window that slides by half its length. "
        "Less is better."
    )
    lower_is_better = True
    style = "bits"

    def of_length(self, run: MeasuredRun, length: int, offset: int) -> float | None:
        if bits_per_byte.is_of_tokens(run.record):
            return bits_per_byte.bits_per_symbol(run, length, offset)
        nats = run.at(length, offset, "negative_log_likelihood")
        return None if nats is None else nats / math.log(2)
