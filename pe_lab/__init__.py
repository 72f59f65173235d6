"""pe_lab: position-encoding ablations in JAX."""

__version__ = "0.2.0"
