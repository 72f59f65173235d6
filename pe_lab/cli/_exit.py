"""How a command ends: its exit status, and one sentence for a mistake."""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable

from pe_lab.runs import streams
from pe_lab.runs.errors import UserError, interrupt, one_line, shortened

# What a disk may refuse.
_DISK = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
)


def exit_with(body: Callable[[], int]) -> None:
    """Exit with the status that `body` returns.

    A user's mistake is printed as one sentence and has status 2. A full disk or too little memory
    has status 1, and Ctrl-C or SIGTERM 130.
    """
    streams.replace_unencodable()
    # A process that is asked to end stops as with Ctrl-C: workers save their state and leave.
    signal.signal(signal.SIGTERM, interrupt)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell may ignore it
        signal.signal(signal.SIGINT, interrupt)
    try:
        status = body()
        sys.stdout.flush()  # here, and not at the exit: the reader may be gone
        sys.exit(status)
    except UserError as e:
        print(f"error: {shortened(str(e))}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as e:
        if e.errno not in _DISK:
            raise
        print(
            f"error: {one_line(e)}; what is finished is kept, and the same command goes on",
            file=sys.stderr,
        )
        sys.exit(1)
    except (MemoryError, RuntimeError) as e:
        if not _is_out_of_memory(e):
            raise
        print(
            f"error: This needs more memory than this machine has ({one_line(e)}).",
            file=sys.stderr,
        )
        sys.exit(1)
    except KeyboardInterrupt:
        print(
            "stopped; what is finished is kept, and the same command goes on from the last "
            "checkpoints",
            file=sys.stderr,
            flush=True,
        )
        with contextlib.suppress(OSError):  # the reader may be gone
            sys.stdout.flush()
        # Threads of JAX and orbax, which may compute or read at this moment, end Python's own exit
        # with a segmentation fault.
        os._exit(130)


def _is_out_of_memory(error: Exception) -> bool:
    """Whether Python or JAX has too little memory. JAX is not imported to tell."""
    is_of_jax = type(error).__name__ == "JaxRuntimeError"
    is_exhausted = is_of_jax and "RESOURCE_EXHAUSTED" in str(error)
    return isinstance(error, MemoryError) or is_exhausted
