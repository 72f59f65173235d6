"""The core and the parts of contrib: where the members of a family and the commands are.

A part adds to a package of the core by a package of the same name: pe_lab/contrib/papers/tasks adds
tasks, and pe_lab/contrib/rope/cli adds a command. pe_lab/contrib/grids/tables adds tables to those
of a tuned study. The core searches its own package and then those of the parts, and imports a part
only when a name of it is used.
"""

import importlib.util
import pkgutil
from pathlib import Path

_ROOT = Path(__file__).parent


def _folders(family: str) -> list[Path]:
    inner = family.replace(".", "/")
    return [*_ROOT.glob(inner), *sorted(_ROOT.glob(f"contrib/*/{inner}"))]


def packages(family: str) -> list[str]:
    """Return the packages of a family: pe_lab.tasks, pe_lab.contrib.papers.tasks."""
    inner_parts = [folder.relative_to(_ROOT).parts for folder in _folders(family)]
    return [".".join(("pe_lab", *inner)) for inner in inner_parts]


def names(family: str) -> list[str]:
    """Return the names of the public modules of a family's packages."""
    modules: set[str] = set()
    for package in packages(family):
        spec = importlib.util.find_spec(package)
        folders = spec.submodule_search_locations if spec else None
        modules |= {module.name for module in pkgutil.iter_modules(list(folders or ()))}
    return sorted(name for name in modules if not name.startswith("_"))


def module(family: str, name: str) -> str | None:
    """Return the module of a name, which is not imported; None if no package has it."""
    modules = (f"{package}.{name}" for package in packages(family))
    return next((path for path in modules if importlib.util.find_spec(path)), None)


def file(family: str, name: str) -> Path | None:
    """Return the file of a name, private ones included. Nothing is imported."""
    files = (folder / f"{name}.py" for folder in _folders(family))
    return next((path for path in files if path.is_file()), None)
