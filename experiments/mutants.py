"""Plant one-token mutants and count those that the tests kill.

    python -m experiments.mutants --record [--workers=2] [TESTS]   # once: which tests call what
    python -m experiments.mutants [--count=300] [--first=3] [--workers=2]

The mutants are those of FOLDERS with the smallest hashes of their place and SEED. Hence a change of
other functions, or the move of a file, leaves them as they are. Each is planted in a temporary
clone of HEAD. The tests that call its function run there, those of its own test file first and
then the fastest, until one fails. A mutant whose tests take longer than --seconds and that no test
within this time kills is undecided.

Outcomes are written to --out after each mutant, and a mutant with an outcome is not tried again.
Exit status: 0.
"""

import ast
import hashlib
import io
import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from pe_lab import cli
from pe_lab.cli._arguments import arguments, flag, whole_number
from pe_lab.runs.errors import UserError

Function = ast.FunctionDef | ast.AsyncFunctionDef
ROOT = Path(__file__).parents[1]
FOLDERS = ("results", "tasks", "runs", "training", "contrib/papers", "contrib/report")
SEED = 0
OTHER = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "+": "-",
    "-": "+",
    "*": "+",
    "/": "*",
    "//": "*",
    "%": "+",
    "and": "or",
    "or": "and",
    "True": "False",
    "False": "True",
    "min": "max",
    "max": "min",
    "any": "all",
    "all": "any",
    "not": "",
}
TIMES_OF_CHANGE = itertools.count(1_000_000_000)
PLUGIN_NAME = "mutants_plugin"
MARKS = "not full and not peers and not gpu and not cluster and not latex and not wheel"
# A plugin of pytest in the folder of the clones. While recording, the functions of the mutants call
# `note`, also in the processes that a test starts: these inherit the name of the running test.
PLUGIN = '''
import os

import pytest

seen = set()


def note(path, function):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if test and (path, function, test) not in seen:
        seen.add((path, function, test))
        write("calls", path, function, test)


def pytest_runtest_logreport(report):
    write("times", report.nodeid, report.when, str(report.duration))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Run tests in the order of the command."""
    order = {test: place for place, test in enumerate(config.args)}
    items.sort(key=lambda item: order.get(item.nodeid, 0))


def write(name, *columns):
    file = os.path.join(os.path.dirname(__file__), f"{name}.{os.getpid()}")
    with open(file, "a", encoding="utf-8") as lines:
        print(*columns, sep="\\t", file=lines)
'''


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.mutants`."""

    tests: Sequence[str] = arguments("with --record, files or folders of tests; default: all")
    record: bool = flag("run the tests and record those that call a mutant's function")
    calls: Path = flag("file of the recorded tests", Path, default=Path(".cache/calls.json"))
    out: Path = flag("file of the outcomes", Path, default=Path(".cache/mutants.json"))
    count: int = flag("number of mutants", whole_number(1), default=300)
    first: int | None = flag("try only the first of them", whole_number(1), default=None)
    workers: int = flag("processes of pytest", whole_number(1), default=1)
    seconds: int = flag("recorded time of the tests of a mutant", whole_number(1), default=120)


@dataclass(frozen=True)
class Mutant:
    """A token and what replaces it.

    Attributes:
      function: the qualified name of the function; "" for a statement of the module or a class.
      index: among the tokens of the function that can be replaced.
    """

    path: str
    function: str
    index: int
    line: int
    column: int
    old: str
    new: str

    @property
    def key(self) -> str:
        """The place without the line and outer folders, which other edits and moves change."""
        file = Path(self.path)
        return f"{file.parent.name}/{file.stem}:{self.function}:{self.index}:{self.old}"

    def planted(self, text: str) -> str:
        """Return the text of the file with the other token."""
        lines = text.splitlines(keepends=True)
        line = lines[self.line - 1]
        end = self.column + len(self.old)
        lines[self.line - 1] = line[: self.column] + self.new + line[end:]
        return "".join(lines)


def mutants_of(path: str, text: str) -> Iterator[Mutant]:
    """Yield the mutants of a file. Some are no valid Python: `+` for the `*` before a parameter."""
    functions = _functions(ast.parse(text))
    counts: dict[str, int] = defaultdict(int)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        old = token.string
        is_integer = token.type == tokenize.NUMBER and old.isdigit()
        if not is_integer and (token.type == tokenize.STRING or old not in OTHER):
            continue
        new = str(int(old) + 1) if is_integer else OTHER[old]
        line, column = token.start
        function = functions.get(line, "")
        yield Mutant(path, function, counts[function], line, column, old, new)
        counts[function] += 1


def _functions(tree: ast.AST) -> dict[int, str]:
    """Return the qualified name of the innermost function of each line, as code objects have it."""
    names: dict[int, str] = {}
    for name, node in _definitions(tree):
        names |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), name)
    return names


def _definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield functions with their qualified names, outer functions before inner ones."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield f"{prefix}{node.name}", node
            yield from _definitions(node, f"{prefix}{node.name}.<locals>.")
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node, f"{prefix}{node.name}.")
        else:
            yield from _definitions(node, prefix)


def chosen(root: Path, count: int) -> list[Mutant]:
    """Return `count` valid mutants, the same ones on every call."""
    texts: dict[str, str] = {}
    for folder in FOLDERS:
        for file in sorted((root / "pe_lab" / folder).rglob("*.py")):
            texts[file.relative_to(root).as_posix()] = file.read_text(encoding="utf-8")
    mutants = [mutant for path, text in texts.items() for mutant in mutants_of(path, text)]
    mutants.sort(key=lambda mutant: _hash(mutant.key))
    valid = (mutant for mutant in mutants if _is_python(mutant.planted(texts[mutant.path])))
    return list(itertools.islice(valid, count))


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def _hash(key: str) -> str:
    return hashlib.sha256(f"{SEED}:{key}".encode()).hexdigest()


def record(options: Options) -> None:
    """Run tests of HEAD and write, for each mutant, the tests that call its function."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        clone = _clone(folder)
        mutants = chosen(clone, options.count)
        for path in {mutant.path for mutant in mutants}:
            functions = {mutant.function for mutant in mutants if mutant.path == path}
            file = clone / path
            text = file.read_text(encoding="utf-8")
            file.write_text(with_notes(path, text, functions), encoding="utf-8")
        command = [*_pytest(options.workers), "-m", MARKS, *options.tests]
        status = _run(command, clone, None)
        calls = set(_lines(folder, "calls"))
        times: dict[str, float] = defaultdict(float)
        for test, _, seconds in set(_lines(folder, "times")):
            times[test] += float(seconds)
    tests: dict[str, dict[str, float]] = {mutant.key: {} for mutant in mutants}
    for mutant in mutants:
        for path, function, test in calls:
            if path == mutant.path and mutant.function in ("", function) and test in times:
                tests[mutant.key][test] = times[test]
    options.calls.parent.mkdir(parents=True, exist_ok=True)
    options.calls.write_text(json.dumps(tests, indent=1, sort_keys=True), encoding="utf-8")
    print(f"pytest: exit status {status}. {len(times)} tests: {options.calls}")


def with_notes(path: str, text: str, functions: set[str]) -> str:
    """Return the text of a file whose functions note the test that calls them.

    A mutant outside of functions has the name "": then all functions of the file note it.
    """
    tree = ast.parse(text)
    for name, node in list(_definitions(tree)):
        if name in functions or "" in functions:
            note = ast.parse(f"__import__({PLUGIN_NAME!r}).note({path!r}, {name!r})")
            start = 0 if ast.get_docstring(node) is None else 1
            node.body[start:start] = note.body
    return ast.unparse(tree)


def _lines(folder: Path, name: str) -> Iterator[tuple[str, ...]]:
    for part in folder.glob(f"{name}.*"):
        for line in part.read_text(encoding="utf-8").splitlines():
            yield tuple(line.split("\t"))


def tests_of(mutant: Mutant, times: dict[str, float], limit: float) -> list[str]:
    """Return the tests of a mutant: those of its own test file first, then the fastest.

    Args:
      times: seconds of each test that calls the function.
      limit: seconds of all returned tests; the first test may take longer.
    """
    test_file = f"test_{Path(mutant.path).stem}.py"
    own = {test: Path(test.partition("::")[0]).name == test_file for test in times}
    order = sorted(times, key=lambda test: (not own[test], times[test]))
    tests: list[str] = []
    total = 0.0
    for test in order:
        total += times[test]
        if not tests or total <= limit:
            tests.append(test)
    return tests


def outcome(mutant: Mutant, clone: Path, times: dict[str, float], limit: float) -> str:
    """Return "killed", "survived", "undecided", "timeout" or "no test"."""
    if not times:
        return "no test"
    tests = tests_of(mutant, times, limit)
    file = clone / mutant.path
    text = file.read_text(encoding="utf-8")
    _write(file, mutant.planted(text))
    try:
        status = _run([*_pytest(1), "-x", "-m", MARKS, *tests], clone, 300 + 10 * limit)
    finally:
        _write(file, text)
    passed = "survived" if len(tests) == len(times) else "undecided"
    return {None: "timeout", 0: passed}.get(status, "killed")


def _write(file: Path, text: str) -> None:
    """Write a file with a time of change that no version of it has had, so that Python compiles it.

    Python compares the time in seconds and the size, which a mutant may share with the original.
    """
    file.write_text(text, encoding="utf-8")
    seconds = next(TIMES_OF_CHANGE)
    os.utime(file, (seconds, seconds))


def _pytest(workers: int) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN_NAME]
    return [*command, "-n", str(workers)] if workers > 1 else command


def _run(command: list[str], clone: Path, seconds: float | None) -> int | None:
    """Run a command in a clone and return its exit status; None if it took too long."""
    environment = {
        "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".cache/jax"),
        **os.environ,
        "PYTHONPATH": f"{clone.parent}{os.pathsep}{clone}",
    }
    process = subprocess.Popen(
        command, cwd=clone, env=environment, stdout=subprocess.DEVNULL, start_new_session=True
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return None


def _clone(folder: Path) -> Path:
    """Clone HEAD into a folder, beside the plugin of pytest."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    (folder / f"{PLUGIN_NAME}.py").write_text(PLUGIN, encoding="utf-8")
    return clone


def run(options: Options) -> int:
    if options.record:
        record(options)
        return 0
    if not options.calls.exists():
        raise UserError(f"{options.calls} is missing: run with --record first.")
    tests = json.loads(options.calls.read_text(encoding="utf-8"))
    outcomes = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    clones: queue.SimpleQueue[Path] = queue.SimpleQueue()

    def outcome_of(mutant: Mutant) -> str:
        clone = clones.get()
        try:
            return outcome(mutant, clone, tests.get(mutant.key, {}), options.seconds)
        finally:
            clones.put(clone)

    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.workers) as pool:
        for worker in range(options.workers):
            clone_folder = Path(folder, str(worker))
            clone_folder.mkdir()
            clones.put(_clone(clone_folder))
        mutants = chosen(ROOT, options.count)[: options.first]
        left = [mutant for mutant in mutants if mutant.key not in outcomes]
        for mutant, result in zip(left, pool.map(outcome_of, left), strict=True):
            outcomes[mutant.key] = result
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
            change = f"{mutant.old} -> {mutant.new}"
            print(f"{result}: {mutant.path}:{mutant.line}: {change}", flush=True)
    results = [outcomes[mutant.key] for mutant in mutants]
    print(", ".join(f"{results.count(outcome)} {outcome}" for outcome in sorted(set(results))))
    return 0


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.mutants")
