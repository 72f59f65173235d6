"""pe_lab: position-encoding ablations in JAX."""

__version__ = "0.1.0"
