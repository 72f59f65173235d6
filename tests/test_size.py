"""The size of the core, counted in code tokens, and the line that it must not cross."""

import ast
import io
import tokenize
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
KINDS = (tokenize.NAME, tokenize.NUMBER, tokenize.STRING, tokenize.OP)
# pe_lab without contrib, today. Whoever makes the core smaller lowers it in the same commit.
# A feature that needs more belongs in pe_lab/contrib, or something else leaves the core.
CORE_TOKENS = 214_995
SLACK = 0.01


def docstring_lines(tree):
    """The lines of a file that belong to a docstring."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    lines = set()
    for node in ast.walk(tree):
        if isinstance(node, owners) and ast.get_docstring(node, clean=False) is not None:
            lines |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


def num_tokens(text):
    """The tokens of a file without comments, docstrings and white space."""
    left_out = docstring_lines(ast.parse(text))
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type in KINDS and token.start[0] not in left_out for token in tokens)


def tokens_of(folder, without=None):
    """The tokens of all files below a folder, except those below another one."""
    files = [file for file in folder.rglob("*.py") if without not in file.parents]
    return sum(num_tokens(file.read_text(encoding="utf-8")) for file in files)


def core_tokens():
    return tokens_of(ROOT / "pe_lab", without=ROOT / "pe_lab" / "contrib")


def test_comments_and_docstrings_are_not_counted():
    assert num_tokens('"""A file."""\n\nx = f(1)  # a reason\n') == 6
    assert num_tokens('def f():\n    """A\n    sentence."""\n    return "text"\n') == 7


@pytest.mark.slow
def test_the_core_has_the_size_that_is_declared():
    """It does not grow, and the declared size is lowered when it shrinks."""
    size = core_tokens()
    assert abs(size - CORE_TOKENS) <= SLACK * CORE_TOKENS, f"CORE_TOKENS = {size:_}"


if __name__ == "__main__":  # CI prints the sizes
    print(f"code tokens: core {core_tokens():,}")
    for folder in ("pe_lab/results", "pe_lab/contrib", "docs", "docs/build", "tests"):
        print(f"code tokens: {folder} {tokens_of(ROOT / folder):,}")
