"""The arguments of a command, as a dataclass.

A command declares its arguments once, as the fields of its `Options`:

    study: Path = argument("name or folder of a study", _studies.folder)
    relative: bool = flag("draw lengths as multiples of the training length")

`Parser` makes an argparse parser of them. `-` and `_` are equal in flags.
"""

import argparse
import dataclasses
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.paths import user_path
from pe_lab.runs.plugins import other_packages
from pe_lab.runs.system import terminal

_FLAG = re.compile(r"--[^=.]+(?=$|=)")  # without its value; not --config.train.max_length
_OVERRIDE = re.compile(r"--?(config\.[^=]*)(=?)(.*)", re.DOTALL)
_PLUGINS = "packages with encodings, schemes or tasks that records may name"
Convert = Callable[[str], object]
# Other words for the kinds of `pe-lab list`.
_KINDS = {
    "scheme": "positions",
    "schemes": "positions",
    "position": "positions",
    "study": "studies",
}


@dataclasses.dataclass(frozen=True)
class _Argument:
    """What a field declares: a flag if it has a default, else a positional argument."""

    help: str
    convert: Convert | None = None
    choices: Sequence[str] | None = None
    repeated: bool = False


def argument(
    help: str, convert: Convert | None = None, *, choices: Sequence[str] | None = None
) -> Any:
    """Return the field of a positional argument that must be given."""
    return _field(_Argument(help, convert, choices))


def arguments(help: str, convert: Convert | None = None) -> Any:
    """Return the field of the positional arguments that are left. There may be none."""
    return _field(_Argument(help, convert, repeated=True))


def flag(
    help: str,
    convert: Convert | None = None,
    *,
    default: object = False,
    choices: Sequence[str] | None = None,
    repeated: bool = False,
) -> Any:
    """Return the field of a flag. Without another default it has no value, and is False or True.

    Args:
      repeated: the flag may be given several times, and its value is the list of them.
    """
    return _field(_Argument(help, convert, choices, repeated), default)


def overrides() -> Any:
    """Return the field of the config's overrides, (path, value), of --config.path=value."""
    return dataclasses.field(default=(), metadata={"overrides": True})


def allow_plugins() -> Any:
    """Return the field of a command that may import the classes that records name."""
    return dataclasses.field(default=(), metadata={"plugins": True})


def _field(declared: _Argument, default: object = dataclasses.MISSING) -> Any:
    metadata = {"argument": declared}
    if default is dataclasses.MISSING:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def separated(text: str) -> tuple[str, ...]:
    """Return the values of a list with commas between them."""
    return tuple(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))


def file_path(text: str) -> Path:
    """Convert a text to a path, in which ~ is the home folder."""
    if not text:
        raise argparse.ArgumentTypeError("must be a path, got ''")
    return Path(user_path(text))


def whole_number(least: int) -> Convert:
    """Return the conversion to a whole number that is not below `least`."""

    def convert(text: str) -> int:
        # Longer numbers do not fit 64 bits, and Python refuses those of thousands of digits.
        number = int(text) if re.fullmatch(r"-?\d{1,18}", text) else least - 1
        if number < least:
            raise argparse.ArgumentTypeError(
                f"must be a whole number of at least {least}, got {text!r}"
            )
        return number

    return convert


def whole_numbers(least: int) -> Convert:
    """Return the conversion of numbers with commas between them, none below `least`."""

    def convert(text: str) -> tuple[int, ...]:
        try:
            numbers = tuple(int(part) for part in text.split(","))
        except ValueError:
            numbers = ()
        if not numbers or min(numbers) < least:
            raise argparse.ArgumentTypeError(
                f"must be whole numbers of at least {least} with commas between, as in 8,16,32, "
                f"got {text!r}"
            )
        return numbers

    return convert


class Parser:
    """The parser of a command's arguments. It raises UserError, which exits with status 2."""

    def __init__(self, prog: str, options: type[Any], description: str | None = None):
        self.prog = prog
        self.options = options
        self.parser = _ArgumentParser(
            prog=prog,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.declared: dict[str, _Argument] = {}
        self.required: set[str] = set()
        for field in dataclasses.fields(options):
            if "argument" in field.metadata:
                self.declared[field.name] = field.metadata["argument"]
                self._add(field, field.metadata["argument"])
            if field.default is dataclasses.MISSING:
                self.required.add(field.name)
            if "plugins" in field.metadata:
                self.parser.add_argument(
                    "--allow-plugins", type=separated, default=(), metavar="A,B", help=_PLUGINS
                )
        usage = self.parser.format_usage().removeprefix("usage: ")
        for name in self.required:  # they are checked here, not by argparse
            usage = usage.replace(f"[{name.upper()}]", name.upper())
        self.parser.usage = usage
        self.takes_config = any("overrides" in f.metadata for f in dataclasses.fields(options))

    def parse(self, arguments: Sequence[str]) -> Any:
        """Return the options, and allow the plugins that the arguments name.

        Raises:
          UserError: an argument is missing, unknown, or not of its type.
        """
        values: dict[str, object] = {}
        rest = [_with_hyphens(argument) for argument in arguments]
        if self.takes_config:
            rest, values["overrides"] = _overrides(rest)
        # Flags may come between positional arguments.
        namespace, unused = self.parser.parse_known_intermixed_args(rest)
        if unused:
            raise self._unknown(unused[0])
        named = getattr(namespace, "allow_plugins", ())
        # Before the conversions: the config of a study may allow more.
        other_packages.allow_only({*named, *other_packages.packages_in(" ".join(arguments))})
        for name, declared in self.declared.items():
            text = getattr(namespace, name)
            if text is None and name not in self.required:
                continue  # the default of the field
            values[name] = self._converted(name, declared, text)
        return self.options(**values)

    def _add(self, field: dataclasses.Field[object], declared: _Argument) -> None:
        """Add a field to the argparse parser."""
        words = declared.help.replace("%", "%%")  # argparse formats it with %
        if field.default is dataclasses.MISSING:
            nargs = "*" if declared.repeated else "?"
            self.parser.add_argument(
                field.name, nargs=nargs, metavar=field.name.upper(), help=words
            )
            return
        name = f"--{field.name.replace('_', '-')}"
        if field.default is False:
            self.parser.add_argument(name, action="store_true", help=words)
            return
        action = "append" if declared.repeated else "store"
        self.parser.add_argument(name, action=action, default=None, help=words)

    def _converted(self, name: str, declared: _Argument, value: Any) -> object:
        """Return the value of an argument, which is text if it was given."""
        if value is None:
            raise UserError(
                f"{self.prog} needs {name.upper()}: {declared.help}. See {self.prog} --help."
            )
        if declared.repeated:
            return tuple(self._one(name, declared, text) for text in value)
        return self._one(name, declared, value)

    def _one(self, name: str, declared: _Argument, value: Any) -> object:
        spelling = name.upper() if name in self.required else f"--{name.replace('_', '-')}"
        if declared.choices is not None and value not in declared.choices:
            plural = _KINDS.get(value, f"{value}s")
            if plural in declared.choices:
                return plural
            raise unknown(f"{self.prog}: {spelling}", value, declared.choices)
        if declared.convert is None or isinstance(value, bool):
            return value
        try:
            return declared.convert(value)
        except argparse.ArgumentTypeError as error:
            raise UserError(f"{self.prog}: {spelling} {error}.") from error

    def _unknown(self, argument: str) -> UserError:
        """Return the error of an argument that the command does not have."""
        name = argument.partition("=")[0]
        if not name.startswith("-"):
            return UserError(f"{self.prog} takes no further argument, got {argument!r}.")
        if name.startswith(("--config", "-config")) and "study" in self.declared:
            return UserError(f"{self.prog} takes no config. Give the study: {self.prog} NAME.")
        if name in ("--study", "--results") and "study" in self.declared:
            return UserError(f"The study is the first argument: {self.prog} NAME, or its folder.")
        if "." in name and self.takes_config:
            path = name.lstrip("-")
            return UserError(f"{self.prog} has no {name!r}. Did you mean --config.{path}?")
        flags = [f for f in self.parser._option_string_actions if f.startswith("--")]
        if self.takes_config:
            flags.append("--config")
        return unknown(self.prog, name, flags)


class _ArgumentParser(argparse.ArgumentParser):
    """An argparse parser that raises UserError, and whose help has the width of the terminal."""

    def print_help(self, file: object = None) -> None:
        terminal.show(self.format_help().rstrip(), is_docstring=True)

    def error(self, message: str) -> NoReturn:
        raise UserError(f"{self.prog}: {message}. See {self.prog} --help.")


def _with_hyphens(argument: str) -> str:
    """Return --dry-run for --dry_run."""
    flag = _FLAG.match(argument)
    if not flag:
        return argument
    return flag.group().replace("_", "-") + argument[flag.end() :]


def _overrides(arguments: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return the arguments, with --config=NAME as the first one, and each config.path=value."""
    rest: list[str] = []
    overridden = []
    config: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, value = word.partition("=")
        override = _OVERRIDE.fullmatch(word)
        if override:
            text = override[3] if override[2] else next(words, "")
            overridden.append(f"{override[1]}={text}")
        elif name in ("--config", "-config"):
            config = [value if equals else next(words, "")]
        else:
            rest.append(word)
    return [*config, *rest], tuple(overridden)
