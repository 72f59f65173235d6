"""A plugin of pytest for experiments.mutants: times of tests, and the tests that call a function.

While recording, the functions of the mutants call `note`, also in the processes that a test starts.
These inherit the name of the running test. Each process writes its lines to a file of its own,
beside the clone of the repository that has this module.
"""

import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2]
_seen: set[tuple[str, str, str]] = set()


def note(path: str, function: str) -> None:
    """Write that the running test calls a function."""
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if test and (path, function, test) not in _seen:
        _seen.add((path, function, test))
        _write("calls", path, function, test)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    _write("times", report.nodeid, report.when or "", str(report.duration))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Run tests in the order of the command."""
    order = {test: place for place, test in enumerate(config.args)}
    items.sort(key=lambda item: order.get(item.nodeid, 0))


def _write(name: str, *columns: str) -> None:
    with open(FOLDER / f"{name}.{os.getpid()}", "a", encoding="utf-8") as lines:
        print(*columns, sep="\t", file=lines)
