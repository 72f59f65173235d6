"""Position encodings: one a file, each a Flax NNX module that works on its own.

from pe_lab.encodings.rope import RoPE
"""
