"""The members of a family that laws run on, and what the test file of a member declares."""

import functools
import importlib
import importlib.util
import types
from typing import Any

from pe_lab import parts


@functools.cache
def own_tests(family: str, name: str) -> Any:
    """The test file of a member; an empty namespace if it has none, which one test reports."""
    module = test_module(family, name)
    if ":" in name or importlib.util.find_spec(module) is None:
        return types.SimpleNamespace()
    return importlib.import_module(module)


def test_module(family: str, name: str) -> str:
    """The module of a member's test file, whose folder mirrors that of the member."""
    package, _, _ = (parts.module(family, name) or f"pe_lab.{family}.{name}").rpartition(".")
    return f"tests{package.removeprefix('pe_lab')}.test_{name}"


def is_of_part(family: str, name: str) -> bool:
    """Whether a part of contrib has the member."""
    return (parts.module(family, name) or "").startswith("pe_lab.contrib.")


def spec(family: str, name: str, **arguments: Any) -> dict[str, Any]:
    """The spec of a member with the ARGUMENTS of its test file."""
    declared = getattr(own_tests(family, name), "ARGUMENTS", {})
    return {"name": name, **declared, **arguments}
