"""Written by `python -m docs.build`."""

from pe_lab.contrib.probes.tasks.add_above import AddAbove as AddAbove
from pe_lab.contrib.probes.tasks.copy_grid import CopyGrid as CopyGrid
from pe_lab.contrib.probes.tasks.copy_page import CopyPage as CopyPage
from pe_lab.contrib.probes.tasks.in_context_recall import InContextRecall as InContextRecall
from pe_lab.contrib.probes.tasks.indirect_indexing import IndirectIndexing as IndirectIndexing
from pe_lab.contrib.probes.tasks.item_after_separator import ItemAfterSeparator as ItemAfterSeparator
from pe_lab.contrib.probes.tasks.multi_hop import MultiHop as MultiHop
from pe_lab.contrib.probes.tasks.needle import Needle as Needle
from pe_lab.contrib.probes.tasks.path_star import PathStar as PathStar
