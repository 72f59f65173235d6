"""Bits per byte of a text.

Windows of all lengths can end with the same bytes (language_model's `align="end"`). The score is
then the mean over these bytes, without those of the first half of the shortest window, which have
little context: a difference between two lengths is an effect of the context alone. The shortest
window is that of the run's config, so lengths that are measured later do not change the bytes;
shorter ones have no value. Other windows are at other places for each length, and the score is the
mean over all their bytes.

The same holds for tokens. Their bits are divided by the mean number of bytes of a token in the test
split, if it is known.
"""

import math
from collections.abc import Mapping

from pe_lab.metrics import negative_log_likelihood_by_place as by_place
from pe_lab.metrics.base import LengthMetric, MeasuredRun
from pe_lab.runs.records.record_schema import JsonObject, Record

_ACCURACIES = {
    *("exact_match", "exact_match_without_end", "answer_exact_match", "token_accuracy"),
    "first_error",
}
COLUMNS = ("corpus_sizes", "symbol", "has_bytes")


class BitsPerByte(LengthMetric):
    label = "bits per byte"
    caption = "Mean negative log-likelihood of the bytes that are scored. Less is better."
    range = (0.0, math.inf)
    lower_is_better = True
    style = "bits"

    def of_length(self, run: MeasuredRun, length: int, offset: int) -> float | None:
        return bits(run, length, offset)


def bits(run: MeasuredRun, length: int, offset: int) -> float | None:
    """Return the bits per byte of a run; None if the bytes of its symbols are not known."""
    num_bytes = bytes_per_symbol(run.record)
    num_bits = bits_per_symbol(run, length, offset)
    if num_bytes is None or num_bits is None:
        return None
    return num_bits / num_bytes


def bits_per_symbol(run: MeasuredRun, length: int, offset: int) -> float | None:
    """Return the bits per byte or token of a run.

    None for a record without the sizes of its text, and for a window that is shorter than those of
    the run's config.
    """
    row = run.rows.get((length, offset, by_place.METRIC))
    if row is None or sizes(run.record) is None:
        return None
    config = run.record["config"]
    if not is_aligned(config):
        return by_place.bits_per_byte(row)
    if length < shortest(config):
        return None
    return by_place.bits_per_byte(row, num_scored(config))


def sizes(record: JsonObject) -> Mapping[str, int] | None:
    """Return the bytes or tokens of each split; None for a record without them."""
    exposure = record["exposure"] or {}
    return exposure.get("corpus_bytes", exposure.get("corpus_tokens"))


def without_accuracies(record: Record) -> Record:
    """Return a record without its accuracies, if it is of a text that states its size.

    They are measured and mean nothing: a text has nothing to solve. Older records keep them.
    """
    if sizes(record) is None:
        return record
    text_record = record.copy()
    text_record["rows"] = [row for row in record["rows"] if row["metric"] not in _ACCURACIES]
    text_record["curve"] = [{**point, "exact_match": {}} for point in record["curve"]]
    text_record["chance_levels"] = []
    return text_record


def is_of_tokens(record: JsonObject) -> bool:
    return "corpus_tokens" in (record["exposure"] or {})


def bytes_per_symbol(record: JsonObject) -> float | None:
    """Return the mean bytes of a symbol of the test; None: not known."""
    if not is_of_tokens(record):
        return 1.0
    means = record["exposure"].get("bytes_per_token")
    return None if means is None else means["test"]


def columns(record: JsonObject) -> JsonObject:
    """Return what `COLUMNS` names: the text of a run in tables."""
    return {
        "corpus_sizes": sizes(record),
        "symbol": "token" if is_of_tokens(record) else "byte",
        "has_bytes": bytes_per_symbol(record) is not None,
    }


def is_aligned(config: JsonObject) -> bool:
    """Whether the windows of all lengths end with the same bytes."""
    return config["task"].get("align") == "end"


def shortest(config: JsonObject) -> int:
    """Return the shortest test length of a run's config."""
    return min(config["evaluate"]["lengths"])


def num_scored(config: JsonObject) -> int:
    """Return the number of bytes at the end of each aligned window that are scored."""
    return max(1, shortest(config) // 2)


def by_length(run: MeasuredRun, offset: int) -> dict[int, float | None]:
    """Return the bits at each length, if all lengths have the same bytes.

    They are per byte, or per token where the bytes are not known.
    """
    if not is_aligned(run.record["config"]):
        return {}
    measure = bits_per_symbol if bytes_per_symbol(run.record) is None else bits
    return {length: measure(run, length, offset) for length in run.lengths(offset)}
