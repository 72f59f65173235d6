"""Untrained encodings in a small model, for tests."""

from pe_lab.contrib.inspection.untrained import UntrainedEncoding


def probe(name, length=8, width=16, num_heads=2, positions=None, seed=0, **arguments):
    """Return an encoding with these arguments; positions are contiguous by default."""
    positions = positions or {"name": "contiguous"}
    spec = {"name": name, **arguments}
    return UntrainedEncoding(spec, length, width, num_heads, positions, seed)
