"""The reasons why variants are not compared or ranked.

A number would mislead in four cases:

    target      the positions or the layout of one of them reveal the target length
    positions   training showed one of them the positions of the test, though no example that long
    length      one of them was trained on that length
    not solved  the point is beyond training, and no seed of one of them solved the training lengths
"""

import math

from pe_lab.results.results import Results, Variant
from pe_lab.runs.analysis_spec import MetricPoint
from pe_lab.runs.record_schema import JsonObject


def why_not(results: Results, a: Variant, b: Variant, point: MetricPoint) -> str:
    """Return why two variants are not compared at a point; "" if they are."""
    for variant in (a, b):
        if not variant.finished:
            return f"{variant.name} has no finished run"
    of_a = set(apart(results, a, point))
    of_b = set(apart(results, b, point))
    # Two variants that share a reason have equal conditions.
    if of_a - of_b:
        return f"{a.name} {min(of_a - of_b)}"
    if of_b - of_a:
        return f"{b.name} {min(of_b - of_a)}"
    if results.has_text:
        return ""  # a text has no exact match, by which runs are solved
    for variant in (a, b):
        if not variant.solved and _is_beyond_training(variant, point):
            return f"{variant.name} did not solve the training lengths with any seed"
    return ""


def apart(results: Results, variant: Variant, point: MetricPoint) -> tuple[str, ...]:
    """Return the reasons why a variant is not ranked with others at a point."""
    length = point.length_for(variant.max_length)
    reasons = []
    if variant.reveals_target_length:
        reasons.append("reveals the target length")
    if saw_positions(results, variant, point):
        reasons.append("saw the positions of the test")
    if length is not None and length <= variant.max_length:
        reasons.append("was trained on that length")
    return tuple(reasons)


def _is_beyond_training(variant: Variant, point: MetricPoint) -> bool:
    length = point.length_for(variant.max_length)
    # Without a single length, such as for a range, the stricter rule applies.
    return bool(point.offset) or length is None or length > variant.max_length


def saw_positions(results: Results, variant: Variant, point: MetricPoint) -> bool:
    """Return whether training showed positions as large as a test beyond its lengths has.

    Records hold the largest position of training. The largest one of the test is at most the
    number of tokens of its examples, minus one, and smaller if several tokens share a position.
    False if no record tells it. For a range of lengths, the longest measured one counts.
    """
    length = point.length_for(variant.max_length)
    if point.lengths is not None:
        _, last = point.lengths
        length = min(last, results.lengths[-1])
    if length is None or not 0 < variant.max_length < length or variant.max_position is None:
        return False
    num_tokens = _num_tokens(results, variant)
    if variant.max_length not in num_tokens:
        return False
    trained = num_tokens.pop(variant.max_length)
    # A decoder and an encoder add these tokens to an example of any length. For an encoder-decoder,
    # no constant holds for both of its sequences.
    num_tokens.setdefault(0, _tokens_of_layout(variant))
    # Most tasks have as many more tokens for each further unit of length.
    other_length = length if length in num_tokens else max(num_tokens)
    increase = trained - num_tokens[other_length]
    beyond = increase * (length - variant.max_length) / (variant.max_length - other_length)
    # Positions start at 0.
    ordinary = min(trained - 1, _in_test(variant, variant.max_length))
    largest_in_test = min(trained + beyond - 1, _in_test(variant, length)) + point.offset
    return variant.max_position > ordinary and variant.max_position >= largest_in_test


def _in_test(variant: Variant, length: int) -> int | float:
    """Return the largest position of a test of this length; infinity if no record tells it."""
    recorded = variant.finished[0]["exposure"].get("max_test_position", {})
    return recorded.get(str(length), math.inf)


def _num_tokens(results: Results, variant: Variant) -> dict[int, int]:
    """Return the number of tokens of an example by length, from all records with the same input.

    Older records hold it at the training length alone, as the largest of contiguous positions.
    """
    num_tokens: dict[int, int] = {}
    for other in results.variants:
        if not _has_same_input(other, variant):
            continue
        recorded = other.finished[0]["exposure"].get("num_tokens", {})
        num_tokens |= {int(length): number for length, number in recorded.items()}
        if other.max_position is not None and all(map(_is_contiguous, other.finished)):
            number = int(other.max_position) + 1
            number = min(number, num_tokens.get(other.max_length, number))
            num_tokens[other.max_length] = number
    return num_tokens


def _tokens_of_layout(variant: Variant) -> int:
    layout = variant.finished[0]["config"]["layout"]
    constant = {"decoder": 1, "encoder": 0}.get(layout["name"])
    if constant is None:
        return 0
    return constant + int(layout["end_token"])


def _is_contiguous(record: JsonObject) -> bool:
    config = record["config"]
    # Several examples in one context have larger positions than one example.
    if config["layout"]["examples_per_context"] > 1:
        return False
    for encoding in config["model"]["encodings"]:
        # An encoding without a scheme of its own reads the positions of the study.
        scheme = encoding.get("positions") or config["positions"]
        if encoding["reads_positions"] and scheme["name"] != "contiguous":
            return False
    return True


def _has_same_input(a: Variant, b: Variant) -> bool:
    if not a.finished or not b.finished:
        return False
    config_a = a.finished[0]["config"]
    config_b = b.finished[0]["config"]
    layout_a, layout_b = config_a["layout"], config_b["layout"]
    same_layout: bool = layout_a["name"] == layout_b["name"]
    same_end: bool = layout_a["end_token"] == layout_b["end_token"]
    return same_layout and same_end and config_a["task"] == config_b["task"]
