"""`python -m experiments.sweep --config=FILE`, the same as `pe-lab sweep FILE`."""

from pe_lab import cli

if __name__ == "__main__":
    cli.main("sweep")
