"""Tasks: generators of examples of a given length. One family a file."""
