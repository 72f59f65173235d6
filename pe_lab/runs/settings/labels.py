"""Labels of config values, as in tables and on the command line, and their parser.

`label` writes rope(base=500000.0) + learned. `parse` reads what users write so. The grid, the
config and the entry points use the same words.
"""

import ast
import re
from collections.abc import Mapping

from pe_lab.runs.errors import UserError
from pe_lab.runs.settings.typed_values import literal
from pe_lab.runs.system import texts

# A quoted string, or a user's class, package.module:Class.
_QUOTED_OR_CLASS = re.compile(r"""'[^']*'|"[^"]*"|[A-Za-z_][\w.]*:[A-Za-z_]\w*""")
# What ast.parse and ast.literal_eval may raise for a text of a user.
_NOT_READABLE = (SyntaxError, ValueError, TypeError, RecursionError, MemoryError)


def label(value: object) -> str:
    """Return the label of a value: rope(base=500000.0), alibi + learned, none, 16."""
    if isinstance(value, Mapping) and "name" in value:
        arguments = [f"{key}={argument_label(v)}" for key, v in value.items() if key != "name"]
        name = str(value["name"])
        return f"{name}({', '.join(arguments)})" if arguments else name
    if isinstance(value, list | tuple):
        return " + ".join(label(item) for item in value) or "none"
    return texts.printable(str(value))


def argument_label(value: object) -> str:
    """Return the label of an argument: (1, 2), copy(num_symbols=6)."""
    if isinstance(value, Mapping):
        return label(value)
    # A tuple is written as Python does, so that `parse` reads it back.
    if isinstance(value, list | tuple) and any(isinstance(item, Mapping) for item in value):
        items = ", ".join(map(argument_label, value))
        comma = "," if len(value) == 1 else ""
        return f"({items}{comma})"
    return texts.printable(str(value))


def agrees(expected: object, actual: object) -> bool:
    """Return whether a part of a config is as expected.

    A text agrees with plugins of these names, as in "rope + learned". A mapping agrees with one
    that has more keys.
    """
    if isinstance(expected, str) and not isinstance(actual, str):
        return expected == _names(actual)
    if isinstance(expected, Mapping):
        if not isinstance(actual, Mapping) or expected.keys() - actual.keys():
            return False
        return all(agrees(value, actual[key]) for key, value in expected.items())
    if isinstance(expected, list | tuple):
        if not isinstance(actual, list | tuple) or len(expected) != len(actual):
            return False
        return all(map(agrees, expected, actual))
    return expected == actual


def _names(value: object) -> str:
    """Return the names of plugins, "none" without any. Other values are returned as text."""
    parts = value if isinstance(value, list | tuple) else [value]
    names = [part["name"] for part in parts if isinstance(part, Mapping) and "name" in part]
    if len(names) < len(parts):
        return str(value)
    return " + ".join(names) or "none"


def parse(text: str) -> tuple[dict[str, object], ...]:
    """Return the plugins of a label, whose values need no quotes.

    "rope(scaling=yarn, factor=4) + learned" has two plugins, "none" has no plugin.

    Raises:
      UserError: the text is not such a label.
    """
    if text.strip() == "none":
        return ()
    try:
        terms = _terms(_tree(text))
        return tuple(_plugin(term) for term in terms)
    except _NOT_READABLE as e:
        raise UserError(
            f"{text!r} does not read like 'rope(scaling=yarn, factor=4) + learned' or 'none'."
        ) from e


def parse_several(text: str) -> tuple[dict[str, object], ...]:
    """Return the plugins of a list with commas: sinusoidal, rope(base=5e5), my.module:Mine.

    A plugin may also be written as in a config: dict(name="rope", base=5e5).

    Raises:
      UserError: the text is not such a list.
    """
    try:
        node = _tree(text)
        items = node.elts if isinstance(node, ast.Tuple) else [node]
        return tuple(_plugin(item) for item in items)
    except _NOT_READABLE as e:
        raise UserError(
            f"{text!r} does not read like 'sinusoidal, rope(base=5e5), my.module:Mine'."
        ) from e


def _tree(text: str) -> ast.expr:
    """Return the parsed text, in which a user's class needs no quotes."""

    def quoted(match: re.Match[str]) -> str:
        part = match.group()
        return part if part[0] in "'\"" else f'"{part}"'

    return ast.parse(_QUOTED_OR_CLASS.sub(quoted, text).strip(), mode="eval").body


def _terms(node: ast.expr) -> list[ast.expr]:
    """Return the terms of a sum."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_terms(node.left), *_terms(node.right)]
    return [node]


def _plugin(node: ast.expr) -> dict[str, object]:
    """Return the plugin of a name, or of a call with keyword arguments."""
    if not isinstance(node, ast.Call):
        return {"name": _name(node)}
    keys = [keyword.arg for keyword in node.keywords]
    has_repeated_keys = len(set(keys)) < len(keys)
    arguments = {str(keyword.arg): _argument(keyword.value) for keyword in node.keywords}
    name: object = _name(node.func)
    if name == "dict":
        name = arguments.pop("name", None)
    if node.args or None in keys or "name" in arguments or has_repeated_keys:
        raise ValueError("not a name with arguments, each once")
    if not isinstance(name, str):
        raise ValueError("no name")
    return {"name": name, **arguments}


def _argument(node: ast.expr) -> object:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Call):
        return _plugin(node)
    if isinstance(node, ast.Tuple):
        return tuple(map(_argument, node.elts))
    return literal(node)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str):  # "package.module:Class"
        return node.value
    raise ValueError("not a name")
