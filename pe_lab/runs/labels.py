"""How a choice reads in tables and on the command line, and back: rope(base=500000.0) + learned.

Plain Python: the grid, the config and the entry points use the same words.
"""

import ast
import re
from collections.abc import Mapping
from typing import Any

from pe_lab.runs.errors import UserError

_CLASS = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")  # a user's own, package.module:Class


def label(value: Any) -> str:
    """How a value reads in a table: rope(base=500000.0), alibi + learned, none, 16."""
    if isinstance(value, Mapping) and "name" in value:
        arguments = ", ".join(
            f"{k}={label(v) if isinstance(v, Mapping) else v}"
            for k, v in value.items()
            if k != "name"
        )
        return f"{value['name']}({arguments})" if arguments else str(value["name"])
    if isinstance(value, list | tuple):
        return " + ".join(label(v) for v in value) or "none"
    return str(value)


def agrees(asked: Any, actual: Any) -> bool:
    """Whether a part of a config is as asked for; a text may stand for the names of plugins."""
    if isinstance(asked, str) and not isinstance(actual, str):
        return asked == _names(actual)
    if isinstance(asked, Mapping):
        return isinstance(actual, Mapping) and all(
            k in actual and agrees(v, actual[k]) for k, v in asked.items()
        )
    if isinstance(asked, list | tuple):
        return (
            isinstance(actual, list | tuple)
            and len(asked) == len(actual)
            and all(map(agrees, asked, actual))
        )
    return asked == actual


def _names(actual: Any) -> str:
    """The text that stands for plugins, "none" without any; of all else, its own."""
    parts = [actual] if isinstance(actual, Mapping) else actual
    if isinstance(parts, list | tuple) and all(
        isinstance(part, Mapping) and "name" in part for part in parts
    ):
        return " + ".join(part["name"] for part in parts) or "none"
    return str(actual)


def parse(text: str) -> tuple[dict[str, Any], ...]:
    """The specs that a label stands for; words need no quotes: rope(scaling=yarn, factor=4) +
    learned, none.

    Raises:
      UserError: it does not read like that.
    """
    if text.strip() == "none":
        return ()
    try:
        return tuple(_spec(part) for part in _parts(ast.parse(text.strip(), mode="eval").body))
    except (
        SyntaxError,
        ValueError,
        TypeError,
        RecursionError,
        MemoryError,
    ) as e:  # all that ast.literal_eval may raise
        raise UserError(
            f"{text!r} does not read like 'rope(scaling=yarn, factor=4) + learned' or 'none'."
        ) from e


def parse_several(text: str) -> tuple[dict[str, Any], ...]:
    """The specs that stand side by side, each alone: sinusoidal, rope(base=5e5), my.module:Mine.

    Raises:
      UserError: it does not read like that.
    """
    quoted = text if set(text) & set("'\"") else _CLASS.sub(r'"\g<0>"', text)
    try:
        node = ast.parse(quoted.strip(), mode="eval").body
        return tuple(_spec(each) for each in (node.elts if isinstance(node, ast.Tuple) else [node]))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as e:
        raise UserError(
            f"{text!r} does not read like 'sinusoidal, rope(base=5e5), my.module:Mine'."
        ) from e


def _parts(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [*_parts(node.left), *_parts(node.right)]
    return [node]


def _spec(node: ast.expr) -> dict[str, Any]:
    if not isinstance(node, ast.Call):
        return {"name": _name(node)}
    keys = [k.arg for k in node.keywords]
    if node.args or None in keys or "name" in keys or len(set(keys)) < len(keys):
        raise ValueError("not a name with arguments, each once")
    return {"name": _name(node.func), **{str(k.arg): _argument(k.value) for k in node.keywords}}


def _argument(node: ast.expr) -> Any:
    if isinstance(node, ast.Name):
        return node.id
    return _spec(node) if isinstance(node, ast.Call) else ast.literal_eval(node)


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Constant) and isinstance(node.value, str):  # "package.module:Class"
        return node.value
    raise ValueError("not a name")
