"""Hashes of the source files of plugins: settings alone do not say which code was run."""

import ast
import contextlib
import functools
import hashlib
import importlib.util
import inspect
import sys
from importlib.machinery import PathFinder
from pathlib import Path

from pe_lab import parts
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import other_packages, plugins

MODULES = "modules"  # the family of the modules that users' classes import
_INSTALLED = {"site-packages", "dist-packages"}
# NotImplementedError: a record names a family that is no relative path.
_NO_SOURCE = (UserError, OSError, SyntaxError, TypeError, ValueError, NotImplementedError)


def source_digest(family: str, name: str) -> str | None:
    """Return a hash of the source of a plugin's class; None if no file of it is found here.

    The source is the file of the class, or of the module if the family is MODULES. For a plugin of
    pe_lab, which is not imported, the private files of its family that the file imports
    (`_arithmetic.py`) are part of it. A plugin of a part imports those of the core, too. A module
    that the file names by parts.module("data", "text_files") counts with the private files of its
    own family.
    """
    try:
        if family == MODULES:
            file = _file_of_module(name)
        else:
            file = file_of_class(family, name) if ":" in name else parts.file(family, name)
        if file is None:
            return None
        is_users = ":" in name or family == MODULES
        files = [file] if is_users else _with_private_files(family, file)
        content = b"".join(file.read_bytes() for file in files)
    except _NO_SOURCE:  # a record of its failure needs no digest
        return None
    return hashlib.sha256(content).hexdigest()[:16]


def imported_modules(module: str) -> list[str]:
    """Return the names of the modules that a user's module imports, also through each other.

    The packages that hold a module are among them, because Python imports them first. Those of
    pe_lab, of the standard library and of other installed packages are left out. Import statements
    are read, and nothing is imported.
    """
    package = module.partition(".")[0]
    modules = [module]
    for importer in modules:  # grows while it is read
        with contextlib.suppress(*_NO_SOURCE):  # the import will report it
            file = _file_of_module(importer)
            parts = importer.split(".")
            names = {".".join(parts[:count]) for count in range(1, len(parts))}
            if file is not None:
                names |= _imported_names(importer, file)
            for name in sorted(names - set(modules)):
                path = None if _is_of_others(name) else _file_of_module(name)
                is_in_package = name.partition(".")[0] == package
                if path and (is_in_package or _INSTALLED.isdisjoint(path.parts)):
                    modules.append(name)
    return modules[1:]


def _is_of_others(module: str) -> bool:
    """Whether the name of a module is one of pe_lab or of the standard library."""
    package = module.partition(".")[0]
    return package in ("", "pe_lab") or package in sys.stdlib_module_names


def _imported_names(module: str, file: Path) -> set[str]:
    """Return the names in a file's import statements that may be modules."""
    package = module.split(".")
    if file.stem != "__init__":
        package.pop()
    names = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            names |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return names


def file_of_class(family: str, name: str) -> Path | None:
    """Return the file that defines "package.module:Class".

    The class is imported only if its module has it from another file.
    """
    module_name, _, class_name = name.partition(":")
    file = _file_of_module(module_name)
    if file is not None and class_name in _class_names(file.read_bytes()):
        return file
    source = inspect.getsourcefile(plugins.find(family, name))
    return None if source is None else Path(source)


def _file_of_module(name: str) -> Path | None:
    """Return the Python file of a module, which is not imported, nor are its packages."""
    top, *inner = name.split(".")
    try:
        # An editable install may have a finder of its own for its top modules.
        spec = importlib.util.find_spec(top)
    except ValueError:  # it is imported and has no spec, as __main__ or a module that code made
        spec = PathFinder.find_spec(top)
    for part in inner:
        # A module that is no package has no modules.
        folders = list(spec.submodule_search_locations or ()) if spec else []
        # The whole name would need the parent of a package without __init__.py to be imported.
        spec = PathFinder.find_spec(part, folders) if folders else None
    origin = spec.origin if spec else None
    return Path(origin) if origin and origin.endswith(".py") else None


@functools.cache
def _class_names(source: bytes) -> set[str]:
    """Return the names of the classes that a file defines at its top level."""
    nodes = ast.parse(source).body
    return {node.name for node in nodes if isinstance(node, ast.ClassDef)}


def _with_private_files(family: str, file: Path) -> list[Path]:
    """Return a file, and the files of _used_modules and those that they use, each once."""
    families = {file: family}
    files = [file]
    for source in files:  # grows while it is read: private files import others
        for used_family, name in _used_modules(families[source], source.read_text("utf-8")):
            path = parts.file(used_family, name)
            if path is not None and path not in files:
                files.append(path)
                families[path] = used_family
    return files


@functools.cache  # a study asks for the same digests once for each run
def _used_modules(family: str, source: str) -> list[tuple[str, str]]:
    """Return the family and the name of each module that counts with a file.

    They are the private modules of its family that it imports, and those of parts.module("a", "b").
    """
    names = set()
    named = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names |= {alias.name for alias in node.names}
            names.add((node.module or "").rpartition(".")[2])
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "parts.module":
            values = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
            if len(values) == 2:
                named.append((str(values[0]), str(values[1])))
    return [(family, name) for name in sorted(names) if name.startswith("_")] + named


def is_changed(plugin: str, digest: str | None) -> bool:
    """Return whether the file of a plugin has another digest now, or is gone.

    A class whose file is known only after an import that is not allowed has not changed.

    Args:
      plugin: family and name, as in "encodings/rope".
    """
    family, _, name = plugin.partition("/")
    current = source_digest(family, name)
    is_users = ":" in name or family == MODULES
    is_unknown = current is None and is_users and not other_packages.is_allowed(name)
    return current != digest and not is_unknown
