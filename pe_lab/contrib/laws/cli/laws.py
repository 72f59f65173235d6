"""Checks the laws of an encoding or a position scheme, such as yours.

    pe-lab laws encodings 'my_package.log_distance:LogDistance(slope=2.0)'
    pe-lab laws encodings my_package.mine:Mine --quick
    pe-lab laws encodings my_package.mine:Mine --law=future_does_not_leak
    pe-lab laws positions my_package.schemes:Mine

It needs beartype: pip install 'pe_lab[laws]'. Your own package is in the current folder, installed,
or on PYTHONPATH. Most laws use strings of seven tokens: give arguments that have an effect within
them. The command stops at the first law that does not hold, says what the law demands and, for
common errors, what the cause looks like. Exit status: 0; 1 if a law does not hold; 2 for wrong
arguments.
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

from pe_lab import import_path
from pe_lab.cli._arguments import argument, flag
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.plugins import plugins
from pe_lab.runs.settings import labels

_PART = Path(__file__).parents[1]
MEMBER_OF = {"encodings": "encoding", "positions": "scheme"}
LAWS = {
    "encodings": tuple(
        _PART / f"laws_of_{subject}.py"
        for subject in ("positions", "visible_tokens", "computation")
    ),
    "positions": (_PART / "scheme_laws.py",),
}
_CHECKS_TYPES = "beartype"  # laws need it, and studies do not


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
    if importlib.util.find_spec(_CHECKS_TYPES) is None:
        raise UserError(f"The laws need {_CHECKS_TYPES}: pip install 'pe_lab[laws]'.")
    if options.law and options.law not in (names := law_names(family)):
        raise unknown(f"The list of laws of {family}", options.law, names)
    if options.law and options.quick:
        raise UserError("Give --law or --quick, not both.")
    plugins.resolve(family, spec)
    # A process of its own, because laws have settings that JAX reads when it is imported. With -P
    # it searches the same folders as this one, in the same order.
    arguments = json.dumps(_arguments(spec, options))
    command = [sys.executable, "-P", "-m", "pe_lab.contrib.laws", family, arguments]
    environment = {**os.environ, **import_path.variables()}
    return subprocess.run(command, env=environment, check=False).returncode


def law_names(family: str) -> list[str]:
    """Return the names of a family's laws, from the files that define them. JAX is not imported."""
    subject = {"encodings": "subject", "positions": "scheme"}[family]
    return [
        node.name
        for file in LAWS[family]
        for node in ast.parse(file.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef) and [a.arg for a in node.args.args] == [subject]
    ]


def _arguments(spec: dict[str, object], options: Options) -> dict[str, Any]:
    """The arguments of the report."""
    arguments = {
        "spec": spec,
        "only": options.law,
        "keep_going": options.keep_going,
        "verbose": options.verbose,
    }
    # The laws of a scheme take seconds, so all of them are quick.
    return arguments | ({"quick": options.quick} if options.family == "encodings" else {})
