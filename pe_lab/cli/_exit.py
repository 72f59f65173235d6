"""How a command ends: its exit status, and one sentence for a mistake."""

import os
import signal
import sys
from collections.abc import Callable

from pe_lab.runs.errors import UserError, shortened


def exit_with(body: Callable[[], int]) -> None:
    """Exit with the status that `body` returns, or with 2 and one sentence for a user's mistake."""
    # A process that is asked to end stops as with Ctrl-C: workers save their state and leave.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        status = body()
        sys.stdout.flush()  # here, and not at the exit: the reader may be gone
        sys.exit(status)
    except UserError as e:
        print(f"error: {shortened(str(e))}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # `head` has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        sys.exit(130)
