"""What a user did wrong, in one sentence."""

import difflib
from collections.abc import Iterable


class UserError(ValueError):
    """A mistake in what the user gave. Entry points print its one line and exit with status 2."""


def unknown(owner: str, name: str, names: Iterable[str]) -> UserError:
    """The error for a name that `owner` does not have, with the near names and all names."""
    names = sorted(names)
    lowered = {each.lower(): each for each in names}
    near = difflib.get_close_matches(name.lower(), lowered, n=1, cutoff=0.5)
    guess = f" Did you mean {lowered[near[0]]!r}?" if near else ""
    return UserError(f"{owner} has no {name!r}.{guess} It has: {', '.join(names) or 'nothing'}.")


def one_line(error: BaseException) -> str:
    """An exception as one line of text."""
    return " ".join(str(error).split()) or type(error).__name__
