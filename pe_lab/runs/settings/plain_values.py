"""Values of a config as plain Python: numbers of NumPy and JAX become Python's."""

import ast
import json
from collections.abc import Mapping
from typing import Any

_DEEPEST = 50  # levels of a value: a config has about five


def literal(code: str | ast.expr) -> object:
    """Return the value of a Python literal that a config may hold.

    Raises:
      TypeError: it is or holds a set, bytes, a complex number, "..." or a dict whose keys are no
        texts.
      Exception: others are those of `ast.literal_eval`.
    """
    value = plain(ast.literal_eval(code))
    json.dumps(value)  # raises TypeError for what JSON cannot hold
    return value


def plain(value: object, depth: int = 0) -> Any:
    """Return a value with plain numbers, in dicts, lists and tuples too.

    Raises:
      TypeError: a key of a dict is no text.
      ValueError: it has too many levels, as a list that holds itself.
    """
    if depth > _DEEPEST:
        raise ValueError(f"a value has more than {_DEEPEST} levels of lists or dicts")
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"the keys of a config are texts, got {key!r}")
        return {key: plain(inner, depth + 1) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        items = [plain(inner, depth + 1) for inner in value]
        return items if isinstance(value, list) else tuple(items)
    # A number of NumPy or JAX has these two; NumPy is not imported to tell.
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        return value.item()
    return value
