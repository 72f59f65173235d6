"""The stubs pe_lab/{encodings,positions,tasks,metrics}/__init__.pyi, and those of contrib.

The packages import their classes at first use, which editors and type checkers cannot follow. The
stubs tell them the names.
"""

import importlib
from pathlib import Path

from pe_lab import parts
from pe_lab.lazy_names import class_files
from pe_lab.runs.plugins import other_packages

PACKAGES = [name for family in other_packages.FAMILIES for name in parts.packages(family)]


def path(package: str) -> Path:
    """Return the file of a stub, in a checkout."""
    return Path(package.replace(".", "/"), "__init__.pyi")


def text(package: str) -> str:
    """Return the stub of a package of members."""
    importlib.import_module(package)
    files = sorted((file, name) for name, file in class_files(package).items())
    lines = [f"from {package}.{file} import {name} as {name}" for file, name in files]
    return "\n".join(['"""Written by `python -m docs.build`."""', "", *lines, ""])


def stale(root: Path) -> list[Path]:
    """Return the stubs below `root` whose files differ from what would be written now."""
    stubs = {path(package): text(package) for package in PACKAGES}
    return [file for file, stub in stubs.items() if _differs(root / file, stub)]


def _differs(file: Path, stub: str) -> bool:
    if not file.exists():
        return file.parent.exists()
    return file.read_text(encoding="utf-8") != stub


def write(root: Path) -> None:
    """Write the stubs that are stale."""
    for package in PACKAGES:
        if path(package) in stale(root):
            (root / path(package)).write_text(text(package), encoding="utf-8")
            print(f"wrote {path(package)}")
