"""The tests whose positions training showed, though no example was as long.

Records hold the largest offset of such a test by its length. For older records, and for lengths
that were measured later, it is computed here, once, when a study is read.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

Row = Mapping[Any, Any]  # of `Study.variants`


def of_variants(
    variants: pd.DataFrame, lengths: Mapping[str, Iterable[int]]
) -> list[dict[int, int | float]]:
    """Return the largest offsets by length for each variant, without lengths that it did not see.

    Args:
      lengths: that are asked for, by variant.
    """
    tokens_by_input = _num_tokens(variants)
    columns = []
    for name, row in variants.to_dict("index").items():
        known = row["seen_offsets"] if row["finished"] else {}
        num_tokens = tokens_by_input.get(row["input"], {})
        offsets = {n: _offset(row, num_tokens, n) for n in lengths[str(name)]} | known
        columns.append({n: offset for n, offset in offsets.items() if offset is not None})
    return columns


def _num_tokens(variants: pd.DataFrame) -> dict[str, dict[int, int]]:
    """Return the tokens of an example by length, from all records with the same input.

    Older records hold it at the training length alone, as the largest of contiguous positions.
    """
    by_input: dict[str, dict[int, int]] = {}
    for row in variants[variants["finished"] > 0].to_dict("records"):
        num_tokens = by_input.setdefault(row["input"], {})
        num_tokens |= row["num_tokens"]
        if row["is_contiguous"] and not math.isnan(row["max_position"]):
            number = int(row["max_position"]) + 1
            length = row["max_length"]
            num_tokens[length] = min(number, num_tokens.get(length, number))
    return by_input


def _offset(row: Row, num_tokens: Mapping[int, int], length: int) -> int | float | None:
    """Return the largest offset of a test whose positions a variant saw; None if it saw fewer.

    The largest position of a test is at most the number of tokens of its examples, minus one, and
    smaller if several tokens share a position.
    """
    largest, trained_length = row["max_position"], row["max_length"]
    # NaN, of a variant that reads no positions, differs from itself.
    if length <= trained_length or trained_length not in num_tokens or largest != largest:
        return None
    trained = num_tokens[trained_length]
    # A decoder and an encoder add these tokens to an example of any length.
    others = {0: int(row["layout_tokens"]), **num_tokens}
    del others[trained_length]
    # Most tasks have as many more tokens for each further unit of length.
    other_length = length if length in others else max(others)
    increase = trained - others[other_length]
    beyond = increase * (length - trained_length) / (trained_length - other_length)
    # Positions start at 0.
    in_test = row["max_test_position"]
    ordinary = min(trained - 1, in_test.get(trained_length, math.inf))
    offset = largest - min(trained + beyond - 1, in_test.get(length, math.inf))
    return offset if largest > ordinary and offset >= 0 else None
