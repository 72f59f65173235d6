"""Mistakes of a user, each as one sentence."""

from collections.abc import Iterable

from pe_lab.choices import unknown_name


class UserError(ValueError):
    """A mistake in a config, a flag or a file. Entry points print it and exit with status 2."""


def unknown(owner: str, name: str, names: Iterable[str]) -> UserError:
    """Return the error for a name that `owner` does not have, with the near names and all names."""
    return UserError(unknown_name(owner, name, names))


def one_line(error: BaseException) -> str:
    """Return the message of an exception as one line, or the name of its class if it has none."""
    message = " ".join(str(error).split())
    return message or type(error).__name__
