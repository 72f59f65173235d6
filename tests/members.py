"""The members of a family that laws run on, and what the test file of a member declares.

Laws run on every file of the folder. `pe-lab laws` sets VARIABLE, and they run on
one class of a user's package instead.
"""

import functools
import importlib
import importlib.util
import json
import os
import types
from typing import Any

from pe_lab import parts
from pe_lab.runs.plugins import plugins

VARIABLE = "PE_LAB_MEMBER"  # the family and the spec of a user's class, as JSON


@functools.cache
def of_user() -> dict[str, Any]:
    """Family -> the spec of the user's class that laws run on; empty if there is none."""
    return json.loads(os.environ.get(VARIABLE, "{}"))


def names(family: str) -> list[str]:
    """The members of a family."""
    spec = of_user().get(family)
    return plugins.names(family) if spec is None else [spec["name"]]


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
    """The spec of a member with the ARGUMENTS of its test file, or those of the user."""
    user = of_user().get(family, {})
    if user.get("name") == name:
        return {**user, **arguments}
    declared = getattr(own_tests(family, name), "ARGUMENTS", {})
    return {"name": name, **declared, **arguments}
