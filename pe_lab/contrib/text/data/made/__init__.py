"""Corpora that code makes, in addition to those of pe_lab/data/made."""
