"""Plugins of other packages: those that add names, and those that this process may import.

An installed package adds a member of a family by an entry point:

    [project.entry-points."pe_lab.encodings"]
    mine = "my_package.mine:Mine"

A config then says dict(name="mine"). Runs and records hold "my_package.mine:Mine", so they do not
depend on the names that are installed. A name of pe_lab's own files wins over an installed one.

Importing a module runs its code, and a results folder from elsewhere can name any module on the
path. So commands import only the plugins of pe_lab, of packages that the user's own config or
command line names, of those in --allow-plugins, and the entry points of installed packages. In a
program, any package may be imported.
"""

import functools
import importlib.metadata
import os
import re
from collections.abc import Iterable, Mapping

from pe_lab.runs.errors import UserError

FAMILIES = ("encodings", "positions", "tasks", "metrics")
# An environment variable, because the processes that train run groups inherit it.
_VARIABLE = "PE_LAB_ALLOWED_PLUGINS"
_CLASS_NAME = re.compile(r"\b([A-Za-z_]\w*)(?:\.\w+)*:[A-Za-z_]")


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


def allow_only(packages: Iterable[str]) -> None:
    """Allow the classes of pe_lab and of some packages or modules, and no others."""
    os.environ[_VARIABLE] = ",".join(sorted({"pe_lab", *packages}))


def allow_also(packages: Iterable[str]) -> None:
    """Allow more packages, if only some are allowed."""
    allowed = os.environ.get(_VARIABLE)
    if allowed is not None:
        allow_only({*allowed.split(","), *packages})


def packages_in(text: str) -> set[str]:
    """Return the packages of the classes that a text names as "package.module:Class"."""
    return set(_CLASS_NAME.findall(text))


def is_allowed(name: str) -> bool:
    """Return whether the class "package.module:Class" may be imported."""
    packages = os.environ.get(_VARIABLE)
    if packages is None:
        return True
    module = name.partition(":")[0]
    if any(module == name or module.startswith(f"{name}.") for name in packages.split(",")):
        return True
    return is_installed(name)


def check(name: str) -> None:
    """Check that the class "package.module:Class" may be imported.

    Raises:
      UserError: it may not.
    """
    if not is_allowed(name):
        package = name.partition(":")[0].partition(".")[0]
        raise UserError(
            f"{name!r} is not imported: neither this command nor the config names a class of "
            f"{package}. If you trust this package, give --allow-plugins={package}."
        )
