"""Names that become one part of a path."""

from pe_lab.runs.errors import UserError
from pe_lab.runs.system import texts

_MOST_BYTES = 200  # file systems allow 255, and temporary files have longer names


def plain(name: str, what: str) -> str:
    """Return a name from a file or a flag, if it is one part of a path.

    Args:
      what: what it should name, as in "a run".

    Raises:
      UserError: it could lead out of its folder, or cannot name a file.
    """
    has_separator = any(character in name for character in "/\\\0")
    if not name or name.startswith(".") or has_separator or not texts.is_printable(name):
        raise UserError(f"{name!r} is not the name of {what}.")
    if len(name.encode()) > _MOST_BYTES:
        raise UserError(f"{name[:20]!r}… is too long for the name of {what}.")
    return name
