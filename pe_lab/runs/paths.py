"""Paths of a user: of files, and dotted paths of a config.

value_at(config, "model.encodings.0.name")
"""

import os
from collections.abc import Mapping
from typing import Any

from pe_lab.runs.errors import UserError


def user_path(text: str) -> str:
    """Return the path of a file with the home folder in place of a leading ~.

    A shell does not replace it in --results=~/mine.

    Raises:
      UserError: the path is empty, which pathlib takes for the working directory; or there is no
        such home: a folder called ~ would be a trap for `rm -r ~`.
    """
    if not text:
        raise UserError("A path is empty: name a file or a folder, or . for the working directory.")
    path = os.path.expanduser(text)
    if path.startswith("~"):
        raise UserError(f"The path {text!r} names a home folder that is not known: write it out.")
    return path


def value_at(config: object, path: str) -> Any:
    """Return the value at a dotted path of a config, in which a number is an index of a list.

    Raises:
      KeyError: the config does not have the path. Its arguments are the first key that is missing,
        and the keys in its place.
    """
    value: Any = config
    for key in path.split("."):
        if isinstance(value, list | tuple):
            value = {str(index): item for index, item in enumerate(value)}
        keys = list(value) if isinstance(value, Mapping) else []
        if key not in keys:
            raise KeyError(key, keys)
        value = value[key]
    return value
