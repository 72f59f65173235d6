"""Tasks: generators of examples of a given length, one family per file."""
