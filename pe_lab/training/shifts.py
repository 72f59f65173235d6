"""Shifts of positions that an encoding cannot notice.

A relative encoding reads differences of positions and nothing else. Schemes that keep differences
train it exactly as contiguous positions do. In cross-attention the two sequences may be shifted by
different numbers, and then the differences change.
"""

from pe_lab.positions.base import PositionScheme
from pe_lab.positions.contiguous import Contiguous
from pe_lab.training import reach
from pe_lab.training.placements import Placement
from pe_lab.training.setup import Setup


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
        return reach.largest_position(setup, placement, length, train=True)
    num_tokens = reach.context_lengths(setup, length, train=True)
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
    num_tokens = max(reach.context_lengths(setup, length, train=False).values())
    readers = [placement for placement in setup.placements if placement.reads_positions]
    largest = [reach.largest_position(setup, p, length, train=False) for p in readers]
    # A run whose parent read positions may read none itself.
    return min(num_tokens - 1, max(largest, default=num_tokens))
