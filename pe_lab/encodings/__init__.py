"""Position encodings: one a file, each a Flax NNX module that works on its own.

from pe_lab.encodings import RoPE
"""

from pe_lab.lazy_names import lazy_names

__getattr__, __dir__ = lazy_names(__name__)
