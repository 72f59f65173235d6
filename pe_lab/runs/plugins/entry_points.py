"""Members of a family that other installed packages add by name.

    [project.entry-points."pe_lab.encodings"]
    mine = "my_package.mine:Mine"

A config then says dict(name="mine"). Runs and records hold "my_package.mine:Mine", so they do not
depend on the names that are installed. A name of pe_lab's own files wins over an installed one.
"""

import functools
import importlib.metadata
from collections.abc import Mapping

from pe_lab.runs.errors import UserError

FAMILIES = ("encodings", "positions", "tasks", "metrics")


@functools.cache  # reads the metadata of every installed package
def installed(family: str) -> Mapping[str, str]:
    """Return the names that installed packages add, each with its "package.module:Class".

    Raises:
      UserError: two packages add different classes under one name.
    """
    members: dict[str, str] = {}
    for entry_point in importlib.metadata.entry_points(group=f"pe_lab.{family}"):
        name, value = entry_point.name, entry_point.value
        if members.setdefault(name, value) != value:
            raise UserError(
                f"Two installed packages add {name!r} to the {family}: {members[name]} and "
                f"{value}. Name the class that you mean, as in dict(name={value!r})."
            )
    return members


def is_installed(path: str) -> bool:
    """Return whether an installed package adds the class "package.module:Class" by a name."""
    return any(path in installed(family).values() for family in FAMILIES)
