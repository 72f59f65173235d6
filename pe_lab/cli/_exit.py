"""How a command ends: its exit status, and one sentence for a mistake."""

import contextlib
import errno
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import NoReturn

from pe_lab.runs.errors import (
    Interrupted,
    forget_interrupts,
    interrupt,
    is_interrupted,
    one_line,
    shortened,
    user_error,
)
from pe_lab.runs.system import terminal

# What a disk may refuse.
_DISK = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
    errno.EFBIG,
)
# What a path of a user may be: a folder in /proc, or one that is a file.
_NO_PLACE = (
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EEXIST,
    errno.ELOOP,
    errno.ENAMETOOLONG,
)

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)  # the last one is of `raise_again`


def exit_with(body: Callable[[], int]) -> None:
    """Exit with the status that `body` returns.

    A user's mistake is printed as one sentence and has status 2. A full disk or too little memory
    has status 1, and Ctrl-C or SIGTERM 130.
    """
    terminal.replace_unencodable()
    with _interruptible():
        try:
            status = _status(body)
        except BaseException as e:
            if not isinstance(e, KeyboardInterrupt) and not is_interrupted():
                raise
            _stop()
        if is_interrupted():  # and Python has dropped the exception
            _stop()
    sys.exit(status)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Raise Interrupted at Ctrl-C and SIGTERM. If Python drops the exception, raise it again.

    Python drops exceptions within callbacks of the garbage collector, of which JAX has one, and
    within destructors. It passes them to `sys.unraisablehook`.
    """
    forget_interrupts()
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    hook = sys.unraisablehook

    def raise_again(dropped: "sys.UnraisableHookArgs") -> None:
        if issubclass(dropped.exc_type, Interrupted):
            signal.setitimer(signal.ITIMER_REAL, 0.01)  # when the callback has ended, probably
        else:
            hook(dropped)

    # A process that is asked to end stops as with Ctrl-C: workers save their state and leave.
    for number in _SIGNALS:
        if handlers[number] is not signal.SIG_IGN:  # a shell may ignore Ctrl-C
            signal.signal(number, interrupt)
    sys.unraisablehook = raise_again
    try:
        yield
    finally:
        sys.unraisablehook = hook
        for number in _SIGNALS:
            signal.signal(number, handlers[number])


def _status(body: Callable[[], int]) -> int:
    try:
        status = body()
        sys.stdout.flush()  # here, and not at the exit: the reader may be gone
        return status
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        _flush()
        return 0
    except OSError as e:
        if e.errno not in (*_DISK, *_NO_PLACE):
            raise
        advice = "; what is finished is kept, and the same command goes on"
        _show_error(f"error: {one_line(e)}{advice if e.errno in _DISK else ''}")
        return 1
    except Exception as e:
        if (mistake := user_error(e)) is not None:
            _show_error(f"error: {shortened(str(mistake))}")
            return 2
        if (reason := _device_error()) is not None:
            _show_error(f"error: {reason}")
            return 1
        if not _is_out_of_memory(e):
            raise
        _show_error(f"error: This needs more memory than this machine has ({one_line(e)}).")
        return 1


def _show_error(sentence: str) -> None:
    """Print a sentence to stderr, whose reader may be gone."""
    with contextlib.suppress(OSError):
        terminal.show(sentence, is_error=True)
    _flush()


def _flush() -> None:
    """Print what is left to print, or drop it if the reader is gone."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            terminal.drop_output(stream)


def _stop() -> NoReturn:
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)  # this process ends already
    _show_error("stopped; what is finished is kept, and the same command does the rest")
    # Threads of JAX and orbax, which may compute or read at this moment, end Python's own exit with
    # a segmentation fault.
    os._exit(130)


def _device_error() -> str | None:
    """Return why JAX, if it is in use, has no device, which any command may meet anywhere."""
    if "jax" not in sys.modules:
        return None
    from pe_lab.training import devices

    return devices.unusable()


def _is_out_of_memory(error: Exception) -> bool:
    """Whether Python or JAX has too little memory. JAX is not imported to tell."""
    is_of_jax = type(error).__name__ == "JaxRuntimeError"
    is_exhausted = is_of_jax and "RESOURCE_EXHAUSTED" in str(error)
    return isinstance(error, MemoryError) or is_exhausted
