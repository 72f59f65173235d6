"""The classes of a package's files as names of the package, imported at their first use (PEP 562).

    from pe_lab.encodings import RoPE, ALiBi    # imports rope.py and alibi.py only

Editors and type checkers read the same names in __init__.pyi, which `python -m docs.build` writes.
"""

import importlib
import re
import sys
from collections.abc import Callable
from pathlib import Path

from pe_lab.choices import unknown_name

_PUBLIC_CLASS = re.compile(r"^class ([A-Za-z]\w*)", re.MULTILINE)


def class_files(package: str) -> dict[str, str]:
    """Return the public classes of a package's public files, each with the name of its file.

    The files are read and not imported: the classes of one file must not cost the imports of all.
    """
    files = {}
    for folder in sys.modules[package].__path__:
        for file in sorted(Path(folder).glob("[!_]*.py")):
            for name in _PUBLIC_CLASS.findall(file.read_text(encoding="utf-8")):
                files[name] = file.stem
    return files


def lazy_names(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return the `__getattr__` and the `__dir__` of a package whose classes are its names."""

    def get(name: str) -> object:
        files = {} if name.startswith("_") else class_files(package)
        if name not in files:
            raise AttributeError(unknown_name(package, name, files))
        module = importlib.import_module(f"{package}.{files[name]}")
        return getattr(module, name)

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *class_files(package)})

    return get, names
