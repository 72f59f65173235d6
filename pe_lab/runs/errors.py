"""Mistakes of a user, each as one sentence."""

import re
import traceback
from collections.abc import Iterable
from pathlib import Path
from types import FrameType
from typing import NoReturn

from pe_lab.choices import unknown_name
from pe_lab.runs.system import texts

LONGEST_WORD = 200  # characters of a user's text that an error message repeats
_LONGEST_MESSAGE = 2000
_TRACEBACK = re.compile(
    r"^.*Traceback \(most recent call last\):.*\n(?:[\w.]+\.)?UserError: (.*)", re.DOTALL
)
_LONG_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")


class UserError(ValueError):
    """A mistake in a config, a flag or a file. Entry points print it and exit with status 2."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM. A KeyboardInterrupt of another class was raised by the user's own code."""


# Signals that asked this process to stop. Python drops an exception that a handler raises within a
# callback of the garbage collector, for instance. A list, because a lock may be held at the signal.
_received: list[int] = []


def interrupt(number: int, frame: FrameType | None) -> NoReturn:
    """Handle a signal that asks a command to stop."""
    _received.append(number)
    raise Interrupted


def is_interrupted() -> bool:
    """Whether a signal has asked this process to stop."""
    return bool(_received)


def raise_if_interrupted() -> None:
    """Raise Interrupted if a signal has asked this process to stop, for loops that take long."""
    if _received:
        raise Interrupted


def forget_interrupts() -> None:
    """Forget the signals that another command of this process has received."""
    _received.clear()


def unknown(owner: str, name: str, names: Iterable[str]) -> UserError:
    """Return the error for a name that `owner` does not have, with the nearest name."""
    return UserError(unknown_name(owner, name, names))


def user_error(error: BaseException) -> UserError | None:
    """Return a mistake of a user, which a callback of JAX may have raised; None: it is none."""
    if isinstance(error, UserError):
        return error
    # Its class depends on the place where JAX met it, and its message is a traceback as text.
    match = _TRACEBACK.search(_text(error))
    return UserError(match[1].strip()) if match else None


def one_line(error: BaseException) -> str:
    """Return the message of an exception as one line, or the name of its class if it has none."""
    return _message(error) or type(error).__name__


def _message(error: BaseException) -> str:
    return texts.printable(" ".join(_text(error).split()))


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # of the code of a plugin
        return ""


def described(error: BaseException) -> str:
    """Return the class of an exception with its message, or with the line that raised it."""
    name = type(error).__name__
    if message := _message(error):
        return f"{name}: {message}"
    frames = traceback.extract_tb(error.__traceback__)
    if not frames:
        return name
    return f"{name} in {Path(frames[-1].filename).name}, line {frames[-1].lineno}"


def line_in(file: Path, error: BaseException) -> int | None:
    """Return the innermost line of a file in the traceback of an error; None without one."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == file.resolve()]
    return lines[-1] if lines else None


def shortened(message: str) -> str:
    """Return an error message with long texts of a user cut."""
    message = texts.printable(message, keep="\n")
    words_cut = _LONG_WORD.sub(lambda match: f"{match.group()[:LONGEST_WORD]}…", message)
    if len(words_cut) <= _LONGEST_MESSAGE:
        return words_cut
    return f"{words_cut[:_LONGEST_MESSAGE]}…"
