"""Run the tests that a change most probably breaks: `make test-changed`.

The changed files are those that differ from `--since`, committed or not. A changed file selects

- the tests of its room: pe_lab/runs has tests/runs, and a file without a room the files in tests/;
- each test that imports it, itself or through helpers in tests/.

Tests that reach it through other modules of pe_lab are left to `make test`: a module of pe_lab.runs
reaches nearly all tests in that way.
"""

import argparse
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import grimp

ROOT = Path(__file__).parent.parent
PACKAGES = ("pe_lab", "experiments", "docs", "configs", "tests")


def changed_files(since: str, root: Path = ROOT) -> list[str]:
    """Paths that differ from the common ancestor with a branch, and new ones."""

    def lines(*command: str) -> list[str]:
        git = ["git", "-C", str(root), *command]
        return subprocess.run(git, check=True, capture_output=True, text=True).stdout.split("\n")

    differing = lines("diff", "--name-only", "--merge-base", since)
    new = lines("ls-files", "--others", "--exclude-standard")
    return sorted({path for path in (*differing, *new) if path})


def tests_of_room(path: str) -> set[Path]:
    """The tests in the folder that mirrors the folder of a file, or directly in tests/."""
    *folders, _ = Path(path).parts
    if folders[:1] == ["pe_lab"]:
        folders = folders[1:]
    depth = 2 if folders[:1] == ["contrib"] else 1
    room = ROOT.joinpath("tests", *folders[:depth])
    if folders and room.is_dir():
        return set(room.rglob("test_*.py"))
    return set((ROOT / "tests").glob("test_*.py"))


def importing_tests(module: str, graph: grimp.ImportGraph) -> set[Path]:
    """The tests that import a module, and those that import such a helper of tests."""
    selected, pending = set(), [module]
    while pending:
        importers = graph.find_modules_that_directly_import(pending.pop())
        found = {each for each in importers if each.startswith("tests.")} - selected
        selected |= found
        pending.extend(found)
    paths = (ROOT / f"{each.replace('.', '/')}.py" for each in selected)
    return {path for path in paths if path.name.startswith("test_")}


def selected_tests(paths: Iterable[str]) -> list[str]:
    """The test files that a change of files selects, relative to the root of the checkout."""
    graph = grimp.build_graph(*PACKAGES, cache_dir=None)
    selected = set()
    for path in paths:
        module = path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
        if not path.startswith("tests/"):
            selected |= tests_of_room(path)
        elif Path(path).name.startswith("test_") and (ROOT / path).exists():
            selected.add(ROOT / path)
        if module in graph.modules:
            selected |= importing_tests(module, graph)
    return sorted(str(path.relative_to(ROOT)) for path in selected)


def main() -> int:
    """Run pytest with the remaining arguments on the selected files."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--since", default="main", help="a branch or commit")
    options, arguments = parser.parse_known_args()
    files = selected_tests(changed_files(options.since))
    print(f"{len(files)} test files are selected.", flush=True)
    if not files:
        return 0
    # 5: pytest ran nothing, because the selected tests have other markers.
    return subprocess.call([sys.executable, "-m", "pytest", *arguments, *files], cwd=ROOT) % 5


if __name__ == "__main__":
    sys.exit(main())
