"""Encodings of papers, one per file."""

from pe_lab.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
