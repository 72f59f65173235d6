"""Checks the laws of its family on one encoding or position scheme, your own for example.

    python -m experiments.laws encoding 'my_package.log_distance:LogDistance(slope=2.0)'
    python -m experiments.laws encoding my_package.mine:Mine --quick
    python -m experiments.laws encoding my_package.mine:Mine --law=future_does_not_leak
    python -m experiments.laws scheme my_package.schemes:Mine

Run it from the root of a checkout of pe_lab. The package must be on PYTHONPATH. The laws are the
tests that pe_lab runs on its own members. The command stops at the first law that does not hold,
says what the law demands and, for common errors, what the cause looks like. Exit status: 0; 1 if a
law does not hold; 2 for wrong arguments.
"""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from absl import flags

from experiments import command_line
from pe_lab.runs import commands, labels, plugins
from pe_lab.runs.errors import UserError, unknown

ROOT = Path(__file__).parents[1]
FAMILIES = {"encoding": "encodings", "scheme": "positions"}
LAWS = {
    "encoding": ROOT / "tests" / "encodings" / "laws.py",
    "scheme": ROOT / "tests" / "positions" / "test_laws.py",
}
_NO_TESTS = 5  # the exit status of pytest without a test

_LAW = flags.DEFINE_string("law", None, "name of one law; default: all laws")
_QUICK = flags.DEFINE_bool("quick", False, "of an encoding, check the eight most telling laws only")
_KEEP_GOING = flags.DEFINE_bool("keep_going", False, "do not stop at the first law that fails")
_VERBOSE = flags.DEFINE_bool("verbose", False, "print the arrays and the traceback of a failure")


def main(arguments: list[str]) -> int:
    if len(arguments) != 2:
        example = commands.python("-m", "experiments.laws", "encoding", "my_package.mine:Mine")
        raise UserError(f"Give a family and a member: {example}")
    family, text = arguments
    if family not in FAMILIES:
        raise unknown("experiments.laws", family, FAMILIES)
    specs = labels.parse_several(text)
    if len(specs) != 1:
        raise UserError(f"experiments.laws checks one {family} at a time, got {text!r}.")
    (spec,) = specs
    if _LAW.value and _LAW.value not in (names := law_names(family)):
        raise unknown(f"The list of laws of {FAMILIES[family]}", _LAW.value, names)
    if _LAW.value and _QUICK.value:
        raise UserError("Give --law or --quick, not both.")
    plugins.resolve(FAMILIES[family], spec)
    command = _of_encodings(spec) if family == "encoding" else _of_schemes()
    member = json.dumps({FAMILIES[family]: spec})
    environment = {**os.environ, "PE_LAB_MEMBER": member}
    # A process of its own, because tests have settings that JAX reads when it is imported.
    status = subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode
    if status == _NO_TESTS:
        raise UserError(f"{_LAW.value} is not a law of one {family}.")
    return status


def law_names(family: str) -> list[str]:
    """Return the names of a family's laws, from the file that defines them as functions."""
    functions = [
        node
        for node in ast.parse(LAWS[family].read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
    ]
    if family == "encoding":
        return [node.name for node in functions if [a.arg for a in node.args.args] == ["subject"]]
    return [node.name for node in functions if node.name.startswith("test_")]


def _of_encodings(spec: dict[str, Any]) -> list[str]:
    options = {
        "spec": spec,
        "only": _LAW.value,
        "quick": _QUICK.value,
        "keep_going": _KEEP_GOING.value,
        "verbose": _VERBOSE.value,
    }
    return [sys.executable, "-m", "tests.encodings.check_laws", json.dumps(options)]


def _of_schemes() -> list[str]:
    """The laws of schemes are tests of pytest, whose names say what they demand."""
    tests = str(LAWS["scheme"])
    if _LAW.value:
        tests += f"::{_LAW.value}"
    command = [sys.executable, "-m", "pytest", tests]
    command.append("--tb=long" if _VERBOSE.value else "--tb=line")
    return command if _KEEP_GOING.value else [*command, "--exitfirst"]


if __name__ == "__main__":
    command_line.run_with_arguments(main)
