"""The laws of a cache, a context and its order on every encoding, in a model with all options on.

The options read earlier tokens, or change what attention gives. tests/model has their own tests.
"""

import functools
from typing import Any

import pytest

from pe_lab.contrib.laws.subjects import Subject
from pe_lab.runs.plugins import plugins
from tests.encodings import laws
from tests.options import OPTIONS

LAWS = (
    "future_does_not_leak",
    "padding_does_not_reach_valid_tokens",
    "packed_segments_equal_separate_ones",
    "prefill_equals_the_full_forward",
    "decoding_equals_the_full_forward",
)


@functools.cache
def subject(name: str) -> Subject:
    """The member in a model of one layer with all options that it allows."""
    fields: dict[str, Any] = {"num_layers": 1, "activation": "swiglu", "qk_norm": True}
    for option in OPTIONS.values():
        fields |= option
    cls: Any = plugins.find("encodings", name)
    if "normalize" in cls.requirements.replaces:
        fields["learned_sinks"] = False  # test_gates.py tests that the model refuses them
    return Subject(laws.spec(name), "decoder", tuple(fields.items()))


@pytest.mark.full
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", laws.names())
def test_law_holds_with_all_options(name, law):
    laws.LAWS[law](subject(name))
