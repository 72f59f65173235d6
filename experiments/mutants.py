"""Plant one-token mutants and count those that the tests kill.

    python -m experiments.mutants --record [--workers=2] [TESTS]   # once: which tests call what
    python -m experiments.mutants [--count=300] [--first=3] [--workers=2]

The mutants are a fixed sample (experiments.mutations). Each is planted in a temporary clone of
HEAD. The tests that call its function run there, those of its own test file first and then the
fastest, until one fails. A mutant whose tests take longer than --seconds and that no test within
this time kills is undecided.

If a cache keeps the result of a call, only the first test that needs it is recorded. So a mutant
that survives may be killed by other tests of the same files.

Outcomes are written to --out after each mutant, and a mutant with an outcome is not tried again.
Exit status: 0.
"""

import ast
import itertools
import json
import os
import queue
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from experiments.mutations import Mutant, chosen, definitions
from pe_lab import cli
from pe_lab.cli._arguments import arguments, flag, whole_number
from pe_lab.runs.errors import UserError

ROOT = Path(__file__).parents[1]
TIMES_OF_CHANGE = itertools.count(1_000_000_000)
PLUGIN = "experiments.mutants_plugin"
MARKS = "not full and not peers and not gpu and not cluster and not latex and not wheel"


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
    for name, node in list(definitions(tree)):
        if name in functions or "" in functions:
            note = ast.parse(f"__import__({PLUGIN!r}, fromlist=['note']).note({path!r}, {name!r})")
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
    command = [sys.executable, "-m", "pytest", "-q", "-p", PLUGIN]
    return [*command, "-n", str(workers)] if workers > 1 else command


def _run(command: list[str], clone: Path, seconds: float | None) -> int | None:
    """Run a command in a clone and return its exit status; None if it took too long.

    Args:
      seconds: the limit. Without one, the output of the command is shown.
    """
    environment = {
        "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".cache/jax"),
        **os.environ,
        "PYTHONPATH": str(clone),
    }
    output = None if seconds is None else subprocess.DEVNULL
    process = subprocess.Popen(
        command, cwd=clone, env=environment, stdout=output, start_new_session=True
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return None


def _clone(folder: Path) -> Path:
    """Clone HEAD into a folder."""
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
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
