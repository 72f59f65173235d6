"""Values of third-party code and of float64 equations: tests/encoding_reference.json."""

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np


@functools.cache
def _entries() -> dict[str, Any]:
    return json.loads((Path(__file__).parent / "encoding_reference.json").read_text())


def entry(name: str) -> dict[str, Any]:
    """One entry: inputs, value, tol."""
    return _entries()[name]


def assert_agrees(computed: Any, name: str, value: Any = None) -> None:
    """Asserts agreement with an entry (or a part of its value) at the entry's own tolerance."""
    found = entry(name)
    np.testing.assert_allclose(
        np.asarray(computed),
        np.asarray(found["value"] if value is None else value),
        rtol=0,
        atol=found["tol"] or 0,
    )
