"""Checks the laws of its family on one encoding or position scheme, your own for example.

    pe-lab laws encodings 'my_package.log_distance:LogDistance(slope=2.0)'
    pe-lab laws encodings my_package.mine:Mine --quick
    pe-lab laws encodings my_package.mine:Mine --law=future_does_not_leak
    pe-lab laws positions my_package.schemes:Mine

It needs a checkout of pe_lab, whose tests have the laws, and the packages that `make test`
installs. Your own package is in the current folder, installed, or on PYTHONPATH. Most laws use
strings of seven tokens: give arguments that have an effect within them. The command stops at the
first law that does not hold, says what the law demands and, for common errors, what the cause looks
like. Exit status: 0; 1 if a law does not hold; 2 for wrong arguments.
"""

import ast
import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pe_lab
from pe_lab import import_path
from pe_lab.cli._arguments import argument, flag
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.plugins import plugins
from pe_lab.runs.settings import labels
from pe_lab.runs.system import commands

ROOT = Path(pe_lab.__file__).parents[1]
MEMBER_OF = {"encodings": "encoding", "positions": "scheme"}
LAWS = {
    "encodings": tuple(
        ROOT / "tests" / "encodings" / f"laws_of_{subject}.py"
        for subject in ("positions", "visible_tokens", "computation")
    ),
    "positions": (ROOT / "tests" / "positions" / "test_laws.py",),
}
_PACKAGES = ("beartype", "pytest")  # what the laws need, and studies do not
_NO_TESTS = 5  # the exit status of pytest without a test


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab laws`."""

    family: str = argument("encodings or positions", choices=tuple(MEMBER_OF))
    member: str = argument("one member, such as 'my_package.mine:Mine(size=4)'")
    law: str | None = flag("name of one law; default: all laws", default=None)
    quick: bool = flag("of an encoding, check the eight most telling laws only")
    keep_going: bool = flag("do not stop at the first law that fails")
    verbose: bool = flag("print the arrays and the traceback of a failure")


def run(options: Options) -> int:
    family = options.family
    specs = labels.parse_several(options.member)
    if len(specs) != 1:
        raise UserError(
            f"pe-lab laws checks one {MEMBER_OF[family]} at a time, got {options.member!r}."
        )
    (spec,) = specs
    if not all(file.exists() for file in LAWS[family]):
        raise UserError(
            "The laws are tests of pe_lab, which an installation does not have. Use a checkout."
        )
    _check_packages()
    if options.law and options.law not in (names := law_names(family)):
        raise unknown(f"The list of laws of {family}", options.law, names)
    if options.law and options.quick:
        raise UserError("Give --law or --quick, not both.")
    plugins.resolve(family, spec)
    command = _of_encodings(spec, options) if family == "encodings" else _of_schemes(options)
    member = json.dumps({family: spec})
    # The process runs in the checkout, so it would not find a package of the current folder.
    environment = {**os.environ, **import_path.variables(), "PE_LAB_MEMBER": member}
    # A process of its own, because tests have settings that JAX reads when it is imported.
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if status == _NO_TESTS:
        raise UserError(f"{options.law} is not a law of one {MEMBER_OF[family]}.")
    return status


def _check_packages() -> None:
    missing = [name for name in _PACKAGES if importlib.util.find_spec(name) is None]
    if missing:
        lock = os.path.relpath(ROOT / "requirements-dev.lock")
        install = commands.python("-m", "pip", "install", "-r", lock)
        raise UserError(f"The laws are tests, and need {' and '.join(missing)}: {install}")


def law_names(family: str) -> list[str]:
    """Return the names of a family's laws, from the files that define them as functions."""
    functions = [
        node
        for file in LAWS[family]
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    ]
    if family == "encodings":
        return [node.name for node in functions if [a.arg for a in node.args.args] == ["subject"]]
    return [node.name for node in functions if node.name.startswith("test_")]


def _of_encodings(spec: dict[str, Any], options: Options) -> list[str]:
    arguments = {
        "spec": spec,
        "only": options.law,
        "quick": options.quick,
        "keep_going": options.keep_going,
        "verbose": options.verbose,
    }
    return [sys.executable, "-m", "tests.encodings.check_laws", json.dumps(arguments)]


def _of_schemes(options: Options) -> list[str]:
    """The laws of schemes are pytest tests, whose names state the laws."""
    (file,) = LAWS["positions"]
    tests = str(file)
    if options.law:
        tests += f"::{options.law}"
    command = [sys.executable, "-m", "pytest", tests]
    command.append("--tb=long" if options.verbose else "--tb=line")
    return command if options.keep_going else [*command, "--exitfirst"]
