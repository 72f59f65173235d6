"""From records to tables and plots. Reads records, imports no jax."""
