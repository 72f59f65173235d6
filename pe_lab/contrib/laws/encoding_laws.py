"""All laws that every encoding must pass, one of your own package among them."""

from pe_lab.contrib.laws.laws_of_computation import (
    accelerator_kernels_equal_the_reference,
    compiled_equals_eager,
    cpu_kernels_equal_the_reference,
    gradients_are_finite_and_reach_every_parameter,
    half_precision_keeps_positions_apart,
    one_seed_gives_one_backbone,
    one_token_is_enough,
    shape_is_kept_and_finite,
)
from pe_lab.contrib.laws.laws_of_positions import (
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
from pe_lab.contrib.laws.laws_of_visible_tokens import (
    decoding_equals_the_full_forward,
    future_does_not_leak,
    packed_segments_equal_separate_ones,
    padding_does_not_reach_valid_tokens,
    prefill_equals_the_full_forward,
)
from pe_lab.contrib.laws.models import ARCHITECTURES
from pe_lab.contrib.laws.subjects import Subject
from pe_lab.encodings.requirements import Requirements
from pe_lab.runs.plugins import plugins

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


def check(spec: dict[str, object], architecture: str = "decoder") -> list[str]:
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
