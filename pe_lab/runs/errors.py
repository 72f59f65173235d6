"""What a user did wrong, in one sentence."""

from collections.abc import Iterable

from pe_lab.choices import unknown_name


class UserError(ValueError):
    """A mistake in what the user gave. Entry points print its one line and exit with status 2."""


def unknown(owner: str, name: str, names: Iterable[str]) -> UserError:
    """The error for a name that `owner` does not have, with the near names and all names."""
    return UserError(unknown_name(owner, name, names))


def one_line(error: BaseException) -> str:
    """An exception as one line of text."""
    return " ".join(str(error).split()) or type(error).__name__
