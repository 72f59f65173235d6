"""Docstrings of Python files, read without importing the files."""

import ast
import inspect
from pathlib import Path


def docstring(file: Path | None) -> str:
    """Return the docstring of a file; "" without one, or if the file is not valid Python."""
    if file is None:
        return ""
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return ""
    return ast.get_docstring(tree) or ""


def without_arguments(text: str) -> tuple[str, dict[str, str]]:
    """Return a docstring without its section Args, and the description of each argument."""
    before, heading, section = inspect.cleandoc(text).partition("\nArgs:\n")
    if not heading:
        return before, {}
    lines = section.split("\n")
    end = next((i for i, line in enumerate(lines) if line and line[0] != " "), len(lines))
    arguments: dict[str, str] = {}
    names = ""
    for line in filter(str.strip, lines[:end]):
        if not line.startswith("    "):  # "  base, scale: their description"
            names, _, line = line.partition(":")
        arguments[names] = f"{arguments.get(names, '')} {line.strip()}".strip()
    described = {}
    for joined, description in arguments.items():
        for name in joined.split(","):
            described[name.strip(" *")] = description
    return "\n".join([before.rstrip(), *lines[end:]]).rstrip(), described


def summary(file: Path | None) -> str:
    """Return the first line of a file's docstring."""
    return docstring(file).partition("\n")[0]
