"""Mutants of pe_lab: one token of a file, and what replaces it.

The choice is those of FOLDERS with the smallest hashes of their place and SEED. Hence a change of
other functions, or the move of a file, leaves them as they are.
"""

import ast
import hashlib
import io
import itertools
import tokenize
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
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
    for name, node in definitions(tree):
        names |= dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), name)
    return names


def definitions(tree: ast.AST, prefix: str = "") -> Iterator[tuple[str, Function]]:
    """Yield functions with their qualified names, outer functions before inner ones."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, Function):
            yield f"{prefix}{node.name}", node
            yield from definitions(node, f"{prefix}{node.name}.<locals>.")
        elif isinstance(node, ast.ClassDef):
            yield from definitions(node, f"{prefix}{node.name}.")
        else:
            yield from definitions(node, prefix)


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
