"""The positions that a run shows its encodings, and the parts of a target that they reveal.

A relative encoding reads differences of positions and nothing else. Schemes that keep differences
train it exactly as contiguous positions do, and it cannot notice a shift. In cross-attention, the
two sequences may be shifted by different numbers, and then the differences change.
"""

from typing import Literal

from pe_lab.positions.base import PositionScheme
from pe_lab.positions.contiguous import Contiguous
from pe_lab.runs.records.record_schema import Exposure, Record
from pe_lab.tasks.base import Task
from pe_lab.tasks.layouts import Layout
from pe_lab.training.setup import Placement, Setup


def recorded(setup: Setup, steps: int, parent: Record | None) -> Exposure:
    """Return the lengths, positions and steps that training has shown, its parent's included."""
    longest = setup.run.train.max_length
    before = None if parent is None else parent["exposure"]
    readers = [placement for placement in setup.placements if placement.reads_positions]
    positions = [largest_trained_position(setup, p, longest) for p in readers]
    if before is not None:
        steps += before["steps"]
        longest = max(longest, before["max_length"])
        if before["max_position"] is not None:
            positions.append(before["max_position"])
    num_tokens = {}
    max_test_position = {}
    for length in sorted({longest, *setup.run.evaluate.lengths}):
        num_tokens[str(length)] = max(setup.num_tokens(length).values())
        in_test = [largest_position(setup, p, length, train=False) for p in readers]
        if in_test:
            max_test_position[str(length)] = max(in_test)
    seen_offsets = {}
    for length in setup.run.evaluate.lengths if positions else ():
        if length > longest:
            seen = seen_offset(setup, length, longest, max(positions))
            seen_offsets[str(length)] = seen
    exposure: Exposure = {
        "steps": steps,
        "max_length": longest,
        "length_name": setup.task.length_name,
        "num_tokens": num_tokens,
        "max_position": max(positions, default=None),
        "max_test_position": max_test_position,
        "seen_offsets": seen_offsets,
        "reveals_target_length": reveals_target_length(setup),
        "solved_threshold": setup.task.threshold,
    }
    exposure.update(setup.task.corpus_sizes)
    return exposure


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


def noticed_scheme(setup: Setup, placement: Placement) -> PositionScheme:
    """Return the scheme of an encoding, or contiguous if the encoding cannot tell it apart."""
    scheme = setup.schemes[placement.site.scheme]
    is_relative = placement.encoding.requirements.relative
    reads_one_sequence = len(placement.streams) == 1
    if is_relative and reads_one_sequence and scheme.keeps_differences:
        return Contiguous()
    return scheme


def largest_trained_position(setup: Setup, placement: Placement, length: int) -> int | float:
    """Return the largest position that training shows an encoding, without unnoticed shifts."""
    if noticed_scheme(setup, placement) != Contiguous():  # schemes are compared by value
        return largest_position(setup, placement, length, train=True)
    num_tokens = context_lengths(setup, length, train=True)
    return max(num_tokens[stack] for stack in placement.streams) - 1


def seen_offset(
    setup: Setup, length: int, max_length: int, max_position: int | float
) -> int | float | None:
    """Return the largest offset of a test of a length whose positions training showed.

    None if training showed fewer, or none beyond the positions of its own longest examples.

    Args:
      max_length, max_position: the largest ones of training.
    """
    ordinary = _largest_test_position(setup, max_length)
    offset = max_position - _largest_test_position(setup, length)
    return offset if max_position > ordinary and offset >= 0 else None


def _largest_test_position(setup: Setup, length: int) -> int | float:
    """The last index of a test's tokens, or its largest position if several tokens share one."""
    num_tokens = max(context_lengths(setup, length, train=False).values())
    readers = [placement for placement in setup.placements if placement.reads_positions]
    largest = [largest_position(setup, p, length, train=False) for p in readers]
    # A run whose parent read positions may read none itself.
    return min(num_tokens - 1, max(largest, default=num_tokens))


def revealed(
    task: Task, layout: Layout, scheme: PositionScheme
) -> Literal["length", "answer"] | None:
    """Return the part of a target that positions reveal: its length, its answer, or None."""
    # A structure may reveal the answer, which is worse than its length, so it is asked first.
    by_structure = None
    if scheme.follows is not None:
        by_structure = task.reveals(scheme.follows, layout.causal)
    if by_structure is None and scheme.reads_length:
        return "length"
    return by_structure


def reveals_target_length(setup: Setup) -> bool:
    """Return whether the layout, positions that are read, or an encoding reveal the length."""
    reads_length = any(p.encoding.requirements.reads_length for p in setup.placements)
    if setup.layout.reveals_target_length or reads_length:
        return True
    return bool(revealing_schemes(setup, "answer") or revealing_schemes(setup, "length"))


def revealing_schemes(setup: Setup, what: Literal["length", "answer"]) -> list[str]:
    """Return the names of the schemes that encodings read and that reveal this."""
    indices = {p.site.scheme for p in setup.placements if p.reads_positions}
    names = []
    for index in sorted(indices):
        if revealed(setup.task, setup.layout, setup.schemes[index]) == what:
            names.append(setup.scheme_names[index])
    return names
