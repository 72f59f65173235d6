"""`python -m experiments.train --config=FILE`, the same as `pe-lab train FILE`."""

from pe_lab import cli

if __name__ == "__main__":
    cli.main("train")
