"""`python -m pe_lab`, the same as `pe-lab`."""

from pe_lab import cli

if __name__ == "__main__":
    cli.main()
