"""The suite sees what it is for: each planted error fails its law.

tests/contrib/laws/test_encoding_report.py has those with a reason in the report.
"""

import numpy as np
import pytest

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings.rope import RoPE
from tests.encodings import broken, laws

CAUSES = "differ by|outside the range got an embedding|not finite at negative positions"


def planted(name, architecture="decoder", **arguments):
    return Subject({"name": f"tests.encodings.broken:{name}", **arguments}, architecture)


@pytest.mark.parametrize(
    ("name", "architecture", "law"),
    [
        ("ReadsTheFirstRow", "decoder", "a_row_of_positions_is_of_its_own_example"),
        ("CountsFromTheEnd", "decoder", "beyond_its_positions_there_is_nothing"),
        ("LogOfPositions", "decoder", "negative_positions_are_positions_too"),
        ("ReadsIndices", "decoder", "positions_are_read_not_indices"),
        ("LeaksPadding", "encoder", "padding_does_not_reach_valid_tokens"),
        ("ReadsOneStream", "encoder_decoder", "between_two_streams_both_positions_are_read"),
        ("SeesOrderWithoutPositions", "encoder", "an_encoder_sees_order_through_positions_alone"),
    ],
)
def test_the_law_fails(name, architecture, law):
    with pytest.raises(AssertionError, match=CAUSES):
        laws.LAWS[law](planted(name, architecture))


def test_a_table_cached_without_its_base_is_seen_by_the_sensitive_argument():
    broken._CACHE.clear()
    logits = [planted("CachedWithoutItsBase", base=base).logits() for base in (10000.0, 100.0)]
    assert np.abs(logits[0] - logits[1]).max() == 0
    sound = [Subject(laws.spec("rope", base=base)).logits() for base in (10000.0, 100.0)]
    assert np.abs(sound[0] - sound[1]).max() > 1e-3


def test_a_cached_table_without_its_base_passes_golden_numbers_alone():
    """Why a law, a value and a sensitivity are needed together."""
    broken._CACHE.clear()
    arguments = {"head_dim": 8, "layout": "interleaved"}
    assert broken.CachedWithoutItsBase(**arguments).frequencies == RoPE(**arguments).frequencies
