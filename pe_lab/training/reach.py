"""The positions that encodings meet in examples of a length."""

from pe_lab.training.placements import Placement
from pe_lab.training.setup import Setup


def context_lengths(setup: Setup, length: int, train: bool) -> dict[str, int]:
    """Map each stack to the tokens that share one range of positions, for examples up to a length.

    Args:
      train: several examples may be packed into one context.
    """
    # With a document mask each example has its own positions, packed or not.
    count = 1
    if train and not setup.layout.document_mask:
        count = setup.layout.examples_per_context
    return {stack: count * n for stack, n in setup.num_tokens(length).items()}


def largest_position(setup: Setup, placement: Placement, length: int, train: bool) -> int | float:
    """Return the largest position that an encoding can meet in examples of a length."""
    site = placement.site
    scheme = setup.schemes[site.scheme]
    axes = range(scheme.num_axes) if site.axis is None else [site.axis]
    lengths = context_lengths(setup, length, train)
    parts = setup.layout.parts(setup.task, length)
    bounds = []
    # These structures may number the tokens of the other stream.
    numbers_all = scheme.follows in ("coupled", "grid")
    for stack in lengths if numbers_all else placement.streams:
        num_tokens = lengths[stack]
        num_examples = num_tokens // sum(parts[stack])  # packed examples repeat the parts of one
        context_parts = parts[stack] * num_examples
        bounds += [scheme.bound_on(axis, num_tokens, train, context_parts) for axis in axes]
    return max(bounds)
