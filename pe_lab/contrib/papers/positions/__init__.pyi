"""Written by `python -m docs.build`."""

from pe_lab.contrib.papers.positions.cape import CAPE as CAPE
from pe_lab.contrib.papers.positions.coupled import Coupled as Coupled
from pe_lab.contrib.papers.positions.pose import PoSE as PoSE
from pe_lab.contrib.papers.positions.random_floats import RandomFloats as RandomFloats
