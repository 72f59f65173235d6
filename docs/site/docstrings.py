"""Docstrings as reStructuredText, which autodoc expects.

Docstrings of pe_lab are plain text: code is in `single backticks`, an indented paragraph is an
example, "Label: text." lines below the summary are fields, and a section such as "Args:" has one
"name: text" for each entry. Every docstring gives valid reStructuredText, whatever its words.
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from typing import Any

_SECTION = re.compile(r"([A-Z][\w ,]*):$")
_FIELD = re.compile(r"([A-Z][\w ]*): \S")
_ENTRY = re.compile(r"([^:`]{1,60}): (.*)")
_NAMES = re.compile(r"\w+(, \w+)*$")
_CODE = re.compile(r"(`[^`]+`)")
_UNDERSCORE = re.compile(r"(?<=\w)_(?=\W|$)")
_TITLES = {"Args": "Arguments"}


def rewrite(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Rewrite the lines of a docstring in place, as autodoc's event wants it."""
    del app, name, options
    text = "\n".join(lines)
    if what == "class":
        text = _with_inherited(obj, text)
    lines[:] = to_rst(text, with_fields=what == "module")


def signature(
    app: Any, what: str, name: str, obj: Any, options: Any, arguments: str, result: str
) -> tuple[str | None, str | None]:
    """Return the arguments and the result of a signature, as autodoc's event wants them.

    The arguments of a dataclass are its fields, whose constructor has another signature.
    """
    del app, name, options
    if what == "class" and dataclasses.is_dataclass(obj):
        fields = [field for field in dataclasses.fields(obj) if field.init]
        return f"({', '.join(map(_field, fields))})", None
    private = "jaxlib._jax."  # the module of JAX's arrays
    return arguments and arguments.replace(private, ""), result and result.replace(private, "")


def _field(field: "dataclasses.Field[Any]") -> str:
    if field.default is dataclasses.MISSING:
        return field.name
    return f"{field.name}={field.default!r}"


def to_rst(docstring: str, with_fields: bool = False) -> list[str]:
    """Return the lines of a docstring as reStructuredText.

    Args:
      with_fields: whether the paragraph below the summary may be fields.
    """
    rst: list[str] = []
    for number, block in enumerate(_blocks(docstring)):
        section = _SECTION.match(block[0])
        if section and len(block) > 1:
            title = _TITLES.get(section[1], section[1])
            rst += [f"**{title}**", "", *map(_escaped, _list_of_entries(block[1:]))]
        elif block[0].startswith("    "):
            rst += ["::", "", *block]
        elif with_fields and number == 1 and _has_fields(block):
            rst += [_escaped(f":{line}" if _FIELD.match(line) else line) for line in block]
        elif _is_table(block):
            rst += ["::", "", *(f"    {line}" for line in block)]
        else:
            rst += _escaped("\n".join(block)).split("\n")  # code may go over several lines
        rst.append("")
    return rst


def _has_fields(block: list[str]) -> bool:
    """Whether each line of a paragraph has a label or belongs to the line before it."""
    return all(_FIELD.match(line) or line.startswith(" ") for line in block)


def _is_table(block: list[str]) -> bool:
    """Whether the lines of a paragraph are aligned by indents, and are no list."""
    return any(line.startswith(" ") for line in block) and not re.match(r"- |\d+\. ", block[0])


def _blocks(docstring: str) -> Iterator[list[str]]:
    """Yield the paragraphs of a docstring; a section with its entries is one."""
    block: list[str] = []
    for line in [*docstring.splitlines(), ""]:
        in_section = block and _SECTION.match(block[0])
        is_new = line and not line.startswith(" ")
        starts = is_new and (in_section or _SECTION.match(line))
        ends = not line and not in_section
        if block and (starts or ends):
            yield block
            block = []
        if line:
            block.append(line)
    if block:
        yield block


def _list_of_entries(lines: list[str]) -> Iterator[str]:
    """Yield the lines of a list with the entries of a section; text without names is no list."""
    texts: list[str] = []
    for line in lines:
        is_entry = _ENTRY.match(line.strip()) and not line.startswith("    ")
        if texts and not is_entry:
            texts[-1] += f" {line.strip()}"
        else:
            texts.append(line.strip())
    for text in texts:
        entry = _ENTRY.match(text)
        if entry and _NAMES.match(entry[1]):
            yield f"- `{entry[1]}`: {entry[2]}"
        else:
            yield f"- {text}" if len(texts) > 1 else text


def _escaped(text: str) -> str:
    """Return text with double backticks around code, and without markup elsewhere."""
    parts = _CODE.split(text)
    for i, part in enumerate(parts):
        if i % 2:
            parts[i] = f"`{part}`"
        else:
            parts[i] = _UNDERSCORE.sub(r"\\_", re.sub(r"([*|\\`])", r"\\\1", part))
    return "".join(parts)


def _with_inherited(cls: type, docstring: str) -> str:
    """Return the docstring with the arguments that only base classes describe."""
    own = arguments(docstring)
    inherited: dict[str, str] = {}
    for base in cls.__mro__[1:]:
        inherited = arguments(inspect.cleandoc(base.__doc__ or "")) | inherited
    constructor = inspect.signature(cls).parameters if inherited else {}
    missing = [name for name in inherited if name not in own and name in constructor]
    if not missing:
        return docstring
    described = "\n".join(f"  {name}: {inherited[name]}" for name in missing)
    before, header, after = docstring.partition("Args:\n")
    return f"{before.rstrip()}\n\nArgs:\n{described}\n{after if header else ''}"


def arguments(docstring: str) -> dict[str, str]:
    """Map each argument of the section Args of a docstring to its description, one line each."""
    section = re.search(r"^Args:\n((?:  .*(?:\n|$)|\n)*)", docstring, re.MULTILINE)
    if section is None:
        return {}
    found = re.findall(r"^  (\w+): (.*(?:\n    .*)*)", section[1], re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}
