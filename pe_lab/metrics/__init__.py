"""Metrics: one file each, with the compiled part, the value, the label and the better direction.

The name of a metric is the name of its file. Nothing else lists it: evaluation, tables, plots and
the report read this folder.
"""

from pe_lab.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
