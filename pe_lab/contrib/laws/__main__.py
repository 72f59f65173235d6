"""The process of `pe-lab laws`, with the settings of tests.

python -m pe_lab.contrib.laws FAMILY '{"spec": {"name": "my_package.mine:Mine"}, ...}'
"""

# First, because it sets what JAX reads when it is imported.
from pe_lab.contrib.laws import strict  # noqa: F401  # isort: skip

import json
import sys
from collections.abc import Sequence

import numpy as np

from pe_lab.contrib.laws import encoding_report, scheme_report
from pe_lab.runs.errors import UserError

_REPORTS = {"encodings": encoding_report, "positions": scheme_report}


def main(arguments: Sequence[str]) -> int:
    """Print the lines, and return 0, 1 if a law does not hold, or 2 for a user's mistake."""
    family, options = arguments
    status = 0
    np.set_printoptions(precision=4, suppress=True, threshold=10_000)
    try:
        for line in _REPORTS[family].check(**json.loads(options)):
            status = max(status, int(line.startswith("FAILS")))
            print(line, flush=True)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
