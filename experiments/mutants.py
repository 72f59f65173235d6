"""Plant one-token mutants and count those that the tests kill.

    python -m experiments.mutants --record [--workers=2] [TESTS]   # once: which tests call what
    python -m experiments.mutants [--count=300] [--first=3] [--workers=2]

The mutants are those of FOLDERS with the smallest hashes of their place and SEED. Hence a change of
other functions, or the move of a file, leaves them as they are. Each is planted in a temporary
clone of HEAD, and the test files that call its function run there until one test fails.

Outcomes are written to --out after each mutant, and a mutant with an outcome is not tried again.
Exit status: 0.
"""

import ast
import hashlib
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pe_lab import cli
from pe_lab.cli._arguments import arguments, flag, whole_number
from pe_lab.runs.errors import UserError

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
MARKS = "not full and not peers and not gpu and not cluster and not latex and not wheel"
# Each process of the tests imports this module. Pytest names the running test in its environment,
# which the processes that a test starts inherit.
RECORDER = """
import os
import sys
import threading

root = os.environ["MUTANTS_ROOT"] + os.sep
seen = set()


def on_call(frame, event, argument):
    if event != "call":
        return
    code = frame.f_code
    if not code.co_filename.startswith(root):
        return
    test = os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0]
    if test and (code, test) not in seen:
        seen.add((code, test))
        path = code.co_filename[len(root):]
        with open(f"{os.environ['MUTANTS_CALLS']}.{os.getpid()}", "a", encoding="utf-8") as file:
            file.write(f"{test}\\t{path}\\t{code.co_qualname}\\n")


threading.setprofile(on_call)
sys.setprofile(on_call)
"""


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.mutants`."""

    tests: Sequence[str] = arguments("with --record, files or folders of tests; default: all")
    record: bool = flag("run the tests and record the functions that each test file calls")
    calls: Path = flag("file of the recorded calls", Path, default=Path(".cache/calls.json"))
    out: Path = flag("file of the outcomes", Path, default=Path(".cache/mutants.json"))
    count: int = flag("number of mutants", whole_number(1), default=300)
    first: int | None = flag("try only the first of them", whole_number(1), default=None)
    workers: int = flag("processes of pytest", whole_number(1), default=1)
    minutes: int = flag("time limit of a mutant", whole_number(1), default=30)


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


def _functions(tree: ast.AST, prefix: str = "") -> dict[int, str]:
    """Return the qualified name of the innermost function of each line, as code objects have it."""
    names: dict[int, str] = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{node.name}"
            names |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), name)
            names |= _functions(node, f"{name}.<locals>.")
        elif isinstance(node, ast.ClassDef):
            names |= _functions(node, f"{prefix}{node.name}.")
        else:
            names |= _functions(node, prefix)
    return names


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


def record(file: Path, tests: Sequence[str], workers: int) -> None:
    """Run tests of HEAD and write which test file calls which functions."""
    with tempfile.TemporaryDirectory() as folder:
        clone = _clone(Path(folder))
        Path(folder, "sitecustomize.py").write_text(RECORDER, encoding="utf-8")
        environment = {"MUTANTS_ROOT": str(clone), "MUTANTS_CALLS": f"{folder}/calls"}
        command = [*_pytest(workers), "-m", MARKS, *tests]
        paths = f"{folder}{os.pathsep}{clone}"
        status = _run(command, clone, {**environment, "PYTHONPATH": paths}, None)
        parts = [part.read_text(encoding="utf-8") for part in Path(folder).glob("calls.*")]
        lines = set("".join(parts).splitlines())
    calls: dict[str, list[list[str]]] = defaultdict(list)
    for line in sorted(lines):
        test, path, function = line.split("\t")
        calls[test].append([path, function])
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(calls, indent=1), encoding="utf-8")
    print(f"pytest: exit status {status}. {len(calls)} test files: {file}")


def tests_of(mutant: Mutant, calls: dict[str, list[list[str]]]) -> list[str]:
    """Return the test files that call the function of a mutant, the most specific one first.

    For a statement outside of functions these are the files that call anything of its file.
    """
    files = []
    for test, called in calls.items():
        functions = [function for path, function in called if path == mutant.path]
        if mutant.function in functions or (functions and not mutant.function):
            files.append(test)
    test_file = f"test_{Path(mutant.path).stem}.py"
    return sorted(files, key=lambda test: (Path(test).name != test_file, len(calls[test])))


def outcome(mutant: Mutant, clone: Path, tests: list[str], options: Options) -> str:
    """Return "killed", "survived", "timeout" or "no test"."""
    if not tests:
        return "no test"
    file = clone / mutant.path
    text = file.read_text(encoding="utf-8")
    file.write_text(mutant.planted(text), encoding="utf-8")
    command = [*_pytest(options.workers), "-x", "-m", MARKS, *tests]
    try:
        status = _run(command, clone, {"PYTHONPATH": str(clone)}, 60 * options.minutes)
    finally:
        file.write_text(text, encoding="utf-8")
    return {None: "timeout", 0: "survived"}.get(status, "killed")


def _pytest(workers: int) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q"]
    return [*command, "-n", str(workers)] if workers > 1 else command


def _run(
    command: list[str], folder: Path, environment: dict[str, str], seconds: int | None
) -> int | None:
    """Run a command and return its exit status; None if it took too long."""
    environment = {
        "JAX_COMPILATION_CACHE_DIR": str(ROOT / ".cache/jax"),
        **os.environ,
    } | environment
    process = subprocess.Popen(
        command,
        cwd=folder,
        env={**environment, "PYTHONDONTWRITEBYTECODE": "1"},  # a mutant may have the same mtime
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        process.wait()
        return None


def _clone(folder: Path) -> Path:
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", str(ROOT), str(clone)], check=True)
    return clone


def run(options: Options) -> int:
    if options.record:
        record(options.calls, options.tests, options.workers)
        return 0
    if not options.calls.exists():
        raise UserError(f"{options.calls} is missing: run with --record first.")
    calls = json.loads(options.calls.read_text(encoding="utf-8"))
    outcomes = json.loads(options.out.read_text(encoding="utf-8")) if options.out.exists() else {}
    with tempfile.TemporaryDirectory() as folder:
        clone = _clone(Path(folder))
        mutants = chosen(clone, options.count)[: options.first]
        for mutant in mutants:
            if mutant.key in outcomes:
                continue
            result = outcome(mutant, clone, tests_of(mutant, calls), options)
            outcomes[mutant.key] = result
            options.out.parent.mkdir(parents=True, exist_ok=True)
            options.out.write_text(json.dumps(outcomes, indent=1) + "\n", encoding="utf-8")
            print(f"{result}: {mutant.path}:{mutant.line}: {mutant.old} -> {mutant.new}")
    results = [outcomes[mutant.key] for mutant in mutants]
    print(", ".join(f"{results.count(outcome)} {outcome}" for outcome in sorted(set(results))))
    return 0


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.mutants")
