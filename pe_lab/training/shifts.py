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
    if noticed_scheme(setup, placement) != Contiguous():
        return reach.largest_position(setup, placement, length, train=True)
    num_tokens = reach.context_lengths(setup, length, train=True)
    return max(num_tokens[stack] for stack in placement.streams) - 1
