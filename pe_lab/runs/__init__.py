"""Descriptions of runs: configs, records, plugins, labels and study files. Imports no JAX."""
