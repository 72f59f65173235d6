"""pe_lab: position-encoding ablations in JAX."""
