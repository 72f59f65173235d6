"""Distributions of training lengths of papers, one file each."""
