"""All laws that every encoding in its folder must pass, and the members of the folder.

test_laws.py runs every law on every member. test_planted.py runs them on broken encodings and sees
them fail.
"""

import functools
from typing import Any

from flax import nnx

from pe_lab.encodings.base import AttentionEncoding
from pe_lab.encodings.requirements import Requirements
from pe_lab.runs.plugins import plugins
from tests import members
from tests.encodings.laws_of_computation import (
    accelerator_kernels_equal_the_reference,
    compiled_equals_eager,
    cpu_kernels_equal_the_reference,
    gradients_are_finite_and_reach_every_parameter,
    half_precision_keeps_positions_apart,
    one_seed_gives_one_backbone,
    one_token_is_enough,
    shape_is_kept_and_finite,
)
from tests.encodings.laws_of_positions import (
    a_row_of_positions_is_of_its_own_example,
    an_encoder_sees_order_through_positions_alone,
    between_two_streams_both_positions_are_read,
    beyond_its_positions_there_is_nothing,
    integer_types_of_positions_are_equal,
    last_two_positions_differ,
    negative_positions_are_positions_too,
    one_row_equals_a_row_for_each,
    order_is_seen,
    positions_are_read_not_indices,
    shift_is_ignored_if_relative,
)
from tests.encodings.laws_of_visible_tokens import (
    decoding_equals_the_full_forward,
    future_does_not_leak,
    packed_segments_equal_separate_ones,
    padding_does_not_reach_valid_tokens,
    prefill_equals_the_full_forward,
)
from tests.encodings.subjects import Subject
from tests.models import ARCHITECTURES

HOOKS = (
    "features",
    "transform_qk",
    "bias",
    "content_bias",
    "mask",
    "transform_logits",
    "normalize",
    "combine",
)


@functools.cache
def names(architecture: str = "decoder") -> tuple[str, ...]:
    """Members that may act in all self-attention of an architecture."""
    names = members.names("encodings")
    return tuple(name for name in names if acts_in(requirements(name), architecture))


def acts_in(needs: Requirements, architecture: str) -> bool:
    """Whether an encoding may act in all self-attention of an architecture."""
    traits = {
        "decoder": ["causal"],
        "encoder": ["bidirectional"],
        "encoder_decoder": ["causal", "bidirectional"],
    }[architecture]
    return all(getattr(needs, trait) for trait in traits)


def requirements(name: str) -> Requirements:
    return plugins.find("encodings", name).requirements  # type: ignore[attr-defined]


def hooks(encoding: Any) -> list[str]:
    """The hooks that an encoding, or its class, has of its own."""
    cls = encoding if isinstance(encoding, type) else type(encoding)
    return [hook for hook in HOOKS if getattr(cls, hook) is not getattr(AttentionEncoding, hook)]


own_tests = functools.partial(members.own_tests, "encodings")
spec = functools.partial(members.spec, "encodings")


def build(name: str) -> Any:
    """The member alone, outside of a model."""
    context = {"width": 64, "num_heads": 4, "head_dim": 16, "num_layers": 2, "bidirectional": False}
    plugin = plugins.resolve("encodings", spec(name))
    return plugins.build("encodings", plugin, **context, rngs=nnx.Rngs(params=0))


LAWS = {
    f.__name__: f
    for f in (
        shape_is_kept_and_finite,
        one_token_is_enough,
        positions_are_read_not_indices,
        shift_is_ignored_if_relative,
        between_two_streams_both_positions_are_read,
        order_is_seen,
        an_encoder_sees_order_through_positions_alone,
        last_two_positions_differ,
        beyond_its_positions_there_is_nothing,
        negative_positions_are_positions_too,
        integer_types_of_positions_are_equal,
        one_row_equals_a_row_for_each,
        a_row_of_positions_is_of_its_own_example,
        cpu_kernels_equal_the_reference,
        accelerator_kernels_equal_the_reference,
        compiled_equals_eager,
        half_precision_keeps_positions_apart,
        future_does_not_leak,
        padding_does_not_reach_valid_tokens,
        packed_segments_equal_separate_ones,
        one_seed_gives_one_backbone,
        gradients_are_finite_and_reach_every_parameter,
        prefill_equals_the_full_forward,
        decoding_equals_the_full_forward,
    )
}


def laws_of(architecture: str) -> list[str]:
    return [
        name
        for name, law in LAWS.items()
        if architecture in getattr(law, "architectures", ARCHITECTURES)
    ]


def check(spec: dict[str, Any], architecture: str = "decoder") -> list[str]:
    """Run every law of an architecture on one encoding, for instance one of your own package.

    Returns:
      the names of the laws, which all hold.

    Raises:
      AssertionError: the first law that does not hold.
    """
    subject = Subject(spec, architecture)
    for law in laws_of(architecture):
        LAWS[law](subject)
    return laws_of(architecture)


# What every input encoding takes.
COMMON = {
    "combine": ("add", "multiply"),
    "scale": (1.0, 0.5),
    "learn_scale": (False, True),
    "lift": ("pad", "project"),
}


def is_attention(name: str) -> bool:
    return issubclass(plugins.find("encodings", name), AttentionEncoding)


def sensitive(name: str) -> dict[str, tuple[dict[str, Any], ...]]:
    """Argument -> two sets of arguments that must give different logits.

    A member states two values, or two dicts where its argument matters only beside others.
    """
    found = getattr(own_tests(name), "SENSITIVE", {})  # test_laws.py reports a file without it
    return {
        a: tuple(v if isinstance(v, dict) else {a: v} for v in values)
        for a, values in found.items()
    }
