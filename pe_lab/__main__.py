"""`python -m pe_lab`, the same as `pe-lab`."""

from pe_lab import import_path

import_path.put_standard_library_first()

from pe_lab import cli  # noqa: E402 - imports modules of the standard library

if __name__ == "__main__":
    cli.main()
