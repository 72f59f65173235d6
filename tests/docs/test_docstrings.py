"""Docstrings become pages of the site's API."""

import ast
import io
from importlib.util import find_spec
from pathlib import Path

import pytest
from docutils.core import publish_doctree

from docs.site import docstrings, reference_pages

ROOT = Path(__file__).parents[2]
DOCSTRING = """A summary of `x_`.

Equation: a*b.
Beyond training: defined,
  a second line.

    1 2 -> 2 1

Text with |bars| and args_, and `code
over_ lines`.

Args:
  first, second: both,
    and more.
  third: the last.

Raises:
  ValueError: wrong.
"""
RST = r"""A summary of ``x_``.

:Equation: a\*b.
:Beyond training: defined,
  a second line.

::

    1 2 -> 2 1

Text with \|bars\| and args\_, and ``code
over_ lines``.

**Arguments**

- ``first, second``: both, and more.
- ``third``: the last.

**Raises**

- ``ValueError``: wrong.
"""


def test_a_docstring_is_plain_text_with_examples_fields_and_sections():
    assert "\n".join(docstrings.to_rst(DOCSTRING, with_fields=True)) == RST


@pytest.mark.slow
def test_every_docstring_of_pe_lab_is_valid_rest():
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for file in sorted((ROOT / "pe_lab").rglob("*.py")):
        lines = []
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, kinds):
                text = ast.get_docstring(node) or ""
                lines += docstrings.to_rst(text, with_fields=isinstance(node, ast.Module))
                lines += ["", f"End of {file.name}.", ""]
        warnings = io.StringIO()
        settings = {"warning_stream": warnings, "report_level": 2}
        publish_doctree("\n".join(lines), settings_overrides=settings)
        assert warnings.getvalue() == "", file


class Base:
    """A base.

    Args:
      size: of the base.
      unused: not an argument below.
    """


class Derived(Base):
    """Derived.

    Args:
      own: of the class.
    """

    def __init__(self, own, size):
        pass


def test_arguments_that_a_base_class_describes_are_shown_too():
    lines = ["Derived.", "", "Args:", "  own: of the class."]
    docstrings.rewrite(None, "class", "", Derived, None, lines)
    assert lines[-4:-1] == ["", "- ``size``: of the base.", "- ``own``: of the class."]


def test_the_modules_of_the_api_exist():
    modules = {module for of_page in reference_pages.API.values() for module in of_page}
    assert [module for module in modules if find_spec(f"pe_lab.{module}") is None] == []
