"""The parser of a command's arguments. `-` and `_` are equal in flags."""

import argparse
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from pe_lab.runs.errors import UserError, unknown

_FLAG = re.compile(r"--[^=.]+(?=$|=)")  # without its value; not --config.train.max_length


class Parser(argparse.ArgumentParser):
    """An argparse parser that raises UserError, which exits with status 2 and names near flags."""

    def __init__(self, *, prog: str, description: str | None):
        super().__init__(
            prog=prog,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Return the options of the arguments.

        Raises:
          UserError: an argument is missing, unknown, or not of its type.
        """
        options, rest = self.parse_known_args(_with_hyphens(args or []), namespace)
        if rest:
            raise self._unknown(rest[0])
        return options

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}. See {self.prog} --help.")

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        if action.choices is not None and value not in action.choices:
            raise unknown(f"{self.prog}: {action.dest}", str(value), map(str, action.choices))

    def _unknown(self, argument: str) -> UserError:
        """Return the error of an argument that the command does not have."""
        flag = argument.partition("=")[0]
        if not flag.startswith("-"):
            return UserError(f"{self.prog} takes no further argument, got {argument!r}.")
        return unknown(self.prog, flag, [f for f in self._option_string_actions if f[:2] == "--"])


def _with_hyphens(arguments: Sequence[str]) -> list[str]:
    """Return the arguments with --dry-run for --dry_run."""
    written = []
    for argument in arguments:
        flag = _FLAG.match(argument)
        if flag:
            argument = flag.group().replace("_", "-") + argument[flag.end() :]
        written.append(argument)
    return written
