"""Strict settings for every test, before anything imports JAX."""

import gc
import itertools
import os
from pathlib import Path

_CACHE = Path(__file__).parent.parent / ".cache" / "jax"
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(_CACHE))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")

from pe_lab.contrib.laws import strict  # noqa: E402, F401  # isort: skip

import jax  # noqa: E402
import pytest  # noqa: E402

from pe_lab.runs.plugins import plugins  # noqa: E402
from tests import members  # noqa: E402

_MAPS = Path("/proc/self/maps")
_MOST_MAPS = 20_000
_TESTS = itertools.count(1)
CONTRIB = Path(__file__).parent / "contrib"
LAWS = {family: Path(__file__).parent / family for family in ("encodings", "positions", "tasks")}


def pytest_runtest_teardown():
    """Allow the import of every package again, and forget compiled programs when there are many.

    Each program holds memory maps. At the system's limit, 65,530 by default on Linux, the process
    ends with
    a segmentation fault.
    """
    # A command that ran in this process may have set it.
    os.environ.pop("PE_LAB_ALLOWED_PLUGINS", None)
    is_due = next(_TESTS) % 20 == 0  # counting maps takes milliseconds
    if is_due and _MAPS.exists() and _MAPS.read_bytes().count(b"\n") > _MOST_MAPS:
        jax.clear_caches()
        gc.collect()


def _has_value(item, names):
    """Whether the parametrization of an item has one of the names as a value."""
    values = getattr(item, "callspec", None)
    return values is not None and not names.isdisjoint(map(str, values.params.values()))


@pytest.hookimpl(tryfirst=True)  # before -m selects
def pytest_collection_modifyitems(items):
    """Mark the tests of contrib. Put the longest files and the folders that train first, so that no
    process ends with a long file.

    A file runs in one process, because its tests share programs and fixtures.
    """
    of_parts = {}
    for family, folder in LAWS.items():
        names = plugins.names(family)
        of_parts[folder] = {name for name in names if members.is_of_part(family, name)}
    for item in items:
        is_law = any(
            folder in item.path.parents and _has_value(item, names)
            for folder, names in of_parts.items()
        )
        if is_law or CONTRIB in item.path.parents:
            item.add_marker(pytest.mark.contrib)
    longest = ("test_laws.py", "test_laws_of_arguments.py")
    first = ("experiments", "training", "sweeps", "", "model")  # "": no folder below tests

    def rank(item):
        *folders, file = Path(os.path.relpath(item.path, Path(__file__).parent)).parts
        folder = folders[0] if folders else ""
        if folder == "encodings" and file in longest:
            return -1
        return first.index(folder) if folder in first else len(first)

    items.sort(key=rank)
