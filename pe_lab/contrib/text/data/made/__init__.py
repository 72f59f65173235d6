"""Corpora that code makes. pe_lab/data/made has their hashes."""
