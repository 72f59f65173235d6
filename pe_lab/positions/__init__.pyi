"""Written by `python -m docs.build`."""

from pe_lab.positions.abacus import Abacus as Abacus
from pe_lab.positions.base import PositionScheme as PositionScheme
from pe_lab.positions.contiguous import Contiguous as Contiguous
from pe_lab.positions.grid import Grid as Grid
from pe_lab.positions.holes import Holes as Holes
from pe_lab.positions.left_padded import LeftPadded as LeftPadded
from pe_lab.positions.multimodal import Multimodal as Multimodal
from pe_lab.positions.normalized import Normalized as Normalized
from pe_lab.positions.packed import Packed as Packed
from pe_lab.positions.randomized import Randomized as Randomized
from pe_lab.positions.separators import Separators as Separators
from pe_lab.positions.shifted import Shifted as Shifted
from pe_lab.positions.shifted_within import ShiftedWithin as ShiftedWithin
from pe_lab.positions.two_stream import TwoStream as TwoStream
