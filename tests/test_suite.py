"""What only `make test-full` runs, for its time, is listed in only_full.txt; the list must not outlive its tests."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LISTED = (ROOT / "tests" / "only_full.txt").read_text(encoding="utf-8").split("\n")


@pytest.mark.parametrize("path", sorted({line.partition("::")[0] for line in LISTED}))
def test_what_is_left_to_the_full_suite_exists(path):
    functions = {
        node.name
        for node in ast.parse((ROOT / path).read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    }
    named = {
        line.partition("::")[2].partition("[")[0] for line in LISTED if line.startswith(f"{path}::")
    }
    assert named <= functions
