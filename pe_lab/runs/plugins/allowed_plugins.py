"""The packages from which this process may import classes that are named "package.module:Class".

Importing a module runs its code, and a results folder from elsewhere can name any module on the
path. So commands import only the plugins of pe_lab, of packages that the user's own config or
command line names, of those in --allow-plugins, and the entry points of installed packages
(entry_points.py). In a program, any package may be imported.
"""

import os
import re
from collections.abc import Iterable

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import entry_points

# An environment variable, because the processes that train run groups inherit it.
_VARIABLE = "PE_LAB_ALLOWED_PLUGINS"
_CLASS_NAME = re.compile(r"\b([A-Za-z_]\w*)(?:\.\w+)*:[A-Za-z_]")


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
    return entry_points.is_installed(name)


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
