"""The law of choices, for every member of a family of plugins."""

import re
import typing
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from pe_lab.runs.plugins import plugins


def arguments(family: str) -> list[tuple[str, str]]:
    """(member, argument) for every argument whose annotation contains a Literal."""
    members = {name: plugins.find(family, name) for name in plugins.names(family)}
    return [
        (name, argument)
        for name, cls in members.items()
        for argument, parameter in plugins.parameters(cls).items()
        if any(literals(parameter.annotation))
    ]


def literals(annotation: Any) -> Iterator[str]:
    """The choices of every Literal inside an annotation."""
    if typing.get_origin(annotation) is Literal:
        yield from typing.get_args(annotation)
    else:
        for inner in typing.get_args(annotation):
            yield from literals(inner)


def assert_misspellings_are_rejected(family: str, name: str, argument: str) -> None:
    """The constructor names the near choice. Other arguments are missing: choices come first."""
    cls = plugins.find(family, name)
    annotation = plugins.parameters(cls)[argument].annotation
    for choice in literals(annotation):
        wrong = choice + choice[-1]
        value = (wrong,) if typing.get_origin(annotation) is tuple else wrong
        sentence = f"{cls.__name__}'s {argument} has no {wrong!r}. Did you mean {choice!r}? "
        with pytest.raises(ValueError, match=re.escape(sentence)):
            cls(**{argument: value})
