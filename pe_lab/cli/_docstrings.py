"""Docstrings of Python files, read without importing the files."""

import ast
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


def summary(file: Path | None) -> str:
    """Return the first line of a file's docstring."""
    return docstring(file).partition("\n")[0]
