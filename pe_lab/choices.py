"""Checks of arguments that take one of a few choices. Standard library only.

The choices of an argument are its `Literal` annotation. Classes that extend `ChecksChoices` reject
other values when they are called, and `pe_lab.runs.plugins` rejects them in configs with the same
sentence.
"""

import difflib
import functools
import inspect
import typing
from collections.abc import Iterable
from typing import Any, Literal

_FEW_NAMES = 8  # with up to this many names, an error message lists them all


class ChecksChoices:
    """Base class whose constructor raises ValueError for an unknown choice.

    The check runs in `__new__`, before `__init__`: dataclasses generate their `__init__`, and
    modules write their own, so neither can be relied on to call a check.
    """

    def __new__(cls, *args: object, **kwargs: object):
        # With this __new__, object.__init__ no longer rejects arguments.
        if cls.__init__ is object.__init__ and (args or kwargs):
            raise TypeError(f"{cls.__name__}() takes no arguments")
        # mypy does not know that a class is hashable.
        annotations = _annotations_with_choices(cls)  # type: ignore[arg-type]
        if annotations:
            names = _positional_names(cls)  # type: ignore[arg-type]
            values = {**dict(zip(names, args, strict=False)), **kwargs}
            for name in annotations.keys() & values.keys():
                message = choice_error(values[name], annotations[name], f"{cls.__name__}'s {name}")
                if message is not None:
                    raise ValueError(message)
        return super().__new__(cls)


def choice_error(value: object, annotation: object, name: str) -> str | None:
    """The error message for a value that its annotation does not allow, or None.

    Checks `Literal[...]` and `tuple[Literal[...], ...]`, and accepts any value for the rest.
    """
    if not has_choices(annotation):
        return None
    if typing.get_origin(annotation) is Literal:
        choices = typing.get_args(annotation)
        return None if value in choices else unknown_name(name, str(value), map(str, choices))
    if not isinstance(value, tuple):
        return f"{name} must be a tuple, got {value!r}."
    item_annotation = typing.get_args(annotation)[0]
    messages = (choice_error(item, item_annotation, name) for item in value)
    return next((message for message in messages if message is not None), None)


def has_choices(annotation: object) -> bool:
    """Whether `choice_error` checks values of this annotation."""
    items = typing.get_args(annotation)
    if typing.get_origin(annotation) is tuple:
        return items[1:] == (Ellipsis,) and has_choices(items[0])
    return typing.get_origin(annotation) is Literal


def unknown_name(owner: str, name: str, names: Iterable[str]) -> str:
    """The error message for a name that `owner` does not have, with the nearest name.

    All names are listed if none is near, or if there are few of them.
    """
    names = sorted(names)
    by_lower_case = {spelling.lower(): spelling for spelling in names}
    near = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.5)
    message = f"{owner} has no {name!r}."
    if near:
        message += f" Did you mean {by_lower_case[near[0]]!r}?"
    if not near or len(names) <= _FEW_NAMES:
        message += f" It has: {', '.join(names) or 'nothing'}."
    return message


def parameters(cls: type) -> dict[str, inspect.Parameter]:
    """The keyword parameters of a constructor, and of its parents if it takes **rest."""
    collected: dict[str, inspect.Parameter] = {}
    for owner in cls.__mro__:
        if "__init__" not in vars(owner):
            continue
        signature = inspect.signature(owner.__init__, eval_str=True)  # type: ignore[misc]
        kinds = {parameter.kind for parameter in signature.parameters.values()}
        for parameter in signature.parameters.values():
            is_named = parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
            if is_named and parameter.name != "self":
                collected.setdefault(parameter.name, parameter)
        if inspect.Parameter.VAR_KEYWORD not in kinds:
            break
    return collected


@functools.cache
def _annotations_with_choices(cls: type) -> dict[str, Any]:
    annotations = {name: parameter.annotation for name, parameter in parameters(cls).items()}
    return {name: annotation for name, annotation in annotations.items() if has_choices(annotation)}


@functools.cache
def _positional_names(cls: type) -> list[str]:
    """The names of the constructor's positional parameters, in order, without `self`."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    return [name for name, parameter in signature.parameters.items() if parameter.kind in kinds][1:]
