"""`python -m pe_lab`, the same as `pe-lab`."""

from pe_lab import import_path

import_path.order_folders()

from pe_lab import cli  # noqa: E402 - imports modules of the standard library

if __name__ == "__main__":
    cli.main()
