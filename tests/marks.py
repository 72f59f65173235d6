"""Markers for values of a parametrization that only `make test-full` runs."""

from collections.abc import Container, Iterable
from typing import Any

import pytest


def full_except(quick: Container[Any], values: Iterable[Any]) -> list[Any]:
    """Values for `parametrize`: those in `quick` run in every suite, the others in the full one."""
    return [v if v in quick else pytest.param(v, marks=pytest.mark.full) for v in values]


def full(*values: Any) -> Any:
    """One set of values for `parametrize` that runs in the full suite alone."""
    return pytest.param(*values, marks=pytest.mark.full)
