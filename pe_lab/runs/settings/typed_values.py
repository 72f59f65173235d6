"""Values of a config: their check against a type annotation, and plain Python values of others."""

import ast
import inspect
import json
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal

from pe_lab.choices import choice_error
from pe_lab.runs.errors import UserError

# The normal numbers of float32, whose names are in NumPy. This package does without it.
_SMALLEST, _LARGEST = 2.0**-126, (2 - 2.0**-23) * 2.0**127
_WORDS = {
    int: "a whole number",
    float: "a number",
    str: "a text",
    bool: "True or False",
    types.NoneType: "None",
}
_DEEPEST = 50  # levels of a value: a config has about five


def checked(value: object, annotation: object, name: str) -> Any:
    """Return a value if it has the annotated type, with lists as tuples and floats from integers.

    Args:
      annotation: int, float, str, bool, None, a tuple, a Literal or a union of these. Values of
        other annotations are only compared with the class.
      name: of the value, for the error.

    Raises:
      UserError: the value has another type.
    """
    if annotation in (Any, inspect.Parameter.empty):
        return value
    if isinstance(value, list):
        value = tuple(value)
    origin = typing.get_origin(annotation)
    if origin is Literal:
        message = choice_error(value, annotation, name)
        if message is not None:
            raise UserError(message)
        return value
    if origin in (typing.Union, types.UnionType):
        return _checked_union(value, annotation, name)
    if origin is tuple:
        return _checked_tuple(value, annotation, name)
    # bool is a subclass of int in Python. In a config True is not a number.
    is_integer = isinstance(value, int) and not isinstance(value, bool)
    if annotation is float and is_integer:
        value, is_integer = _as_float(typing.cast(int, value), name), False
    if annotation is float and isinstance(value, float):
        _check_float32(value, name)
    expected = types.NoneType if annotation is None else annotation
    if expected is int and not is_integer:
        raise _wrong_type(value, annotation, name)
    if is_integer and abs(typing.cast(int, value)) >= 2**31:
        raise UserError(f"{name} must be a whole number of 32 bits, got {value!r}.")
    if isinstance(expected, type) and not isinstance(value, expected):
        raise _wrong_type(value, annotation, name)
    return value


def _as_float(value: int, name: str) -> float:
    try:
        return float(value)
    except OverflowError as e:
        raise UserError(f"{name} is too large: float32 ends at {_LARGEST:g}.") from e


def _check_float32(value: float, name: str) -> None:
    """Check that float32, in which runs compute, has the number: not as infinity, and not as 0."""
    if not math.isfinite(value):
        raise UserError(f"{name} must be a finite number, got {value!r}.")
    if value and not _SMALLEST <= abs(value) <= _LARGEST:
        raise UserError(
            f"{name} must be 0 or of a size from {_SMALLEST:g} to {_LARGEST:g}, which float32 has, "
            f"got {value!r}."
        )


def _checked_union(value: object, annotation: object, name: str) -> object:
    """Return the value as the first type of a union that it has."""
    options = typing.get_args(annotation)
    for option in options:
        try:
            return checked(value, option, name)
        except UserError:
            continue
    words = " or ".join(_readable(option) for option in options)
    raise UserError(f"{name} must be {words}, got {value!r}.")


def _checked_tuple(value: object, annotation: object, name: str) -> tuple[object, ...]:
    """Return a tuple of the annotated length whose items have the annotated types."""
    if not isinstance(value, tuple):
        raise _wrong_type(value, annotation, name)
    items = typing.get_args(annotation)
    if items[1:] == (Ellipsis,):
        items = (items[0],) * len(value)
    if len(value) != len(items):
        raise UserError(f"{name} must have {len(items)} values, got {value!r}.")
    parts = enumerate(zip(value, items, strict=True))
    return tuple(checked(part, item, f"{name}[{i}]") for i, (part, item) in parts)


def _wrong_type(value: object, annotation: object, name: str) -> UserError:
    return UserError(f"{name} must be {_readable(annotation)}, got {value!r}.")


def _readable(annotation: object) -> str:
    """Return the words for a type."""
    if typing.get_origin(annotation) is tuple:
        item = _readable(typing.get_args(annotation)[0])
        return f"a tuple of {item.removeprefix('a ')}s"
    if typing.get_origin(annotation) is Literal:
        return " or ".join(map(repr, typing.get_args(annotation)))
    if isinstance(annotation, type):
        return _WORDS.get(annotation, annotation.__name__)
    return str(annotation)


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
