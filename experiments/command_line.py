"""What all entry points share: flags in, one clear sentence out when they are wrong, exit status 2
then.
"""

import ast
import dataclasses
import sys
from collections.abc import Callable
from typing import Any

from absl import flags
from ml_collections import ConfigDict, config_flags

from experiments import config_files
from pe_lab.cli._exit import exit_with
from pe_lab.runs.errors import LONGEST_WORD, UserError, one_line, unknown
from pe_lab.runs.grid import Point
from pe_lab.sweeps.tuning import Tuning


@dataclasses.dataclass(frozen=True)
class StudyFile:
    """A config file as the command line gave it: its name, its values with overrides, and the
    points of its sweep.
    """

    name: str
    values: dict[str, Any]
    points: list[Point]
    overridden: tuple[str, ...]  # paths that the command line set
    analysis: dict[str, Any]  # what it says of its analysis; nothing if it says nothing
    tuning: Tuning | None = None  # of a study with a `tune`


def run(main: Callable[[], int]) -> None:
    """Parses the flags and exits with main's status, or with 2 and one line for a user's
    mistake.
    """

    def body() -> int:
        _parse(sys.argv)
        return main()

    _exit(body, sys.modules[main.__module__].__doc__)


def run_with_arguments(main: Callable[[list[str]], int]) -> None:
    """The same for entry points that take arguments which are not flags, such as names."""

    def body() -> int:
        return main(_parse_flags(sys.argv))

    _exit(body, sys.modules[main.__module__].__doc__)


def run_with_config(main: Callable[[StudyFile], int]) -> None:
    """The same for entry points that take --config=configs/x.py, or configs/x.py:FORM, and
    --config.key=value.
    """

    def body() -> int:
        argv, path, form = config_files.from_arguments(sys.argv)
        config, points, analysis, tune = config_files.load(path, form)
        overridden = [
            a.lstrip("-").partition("=")[0].removeprefix("config.")
            for a in argv
            if a.lstrip("-").startswith("config.")
        ]
        argv = [a for a in argv if not _overrides(a, config)]
        config_flags.DEFINE_config_dict("config", config, sys_argv=argv)
        _parse(argv)
        return main(
            StudyFile(
                f"{path.stem}_{form}" if form else path.stem,
                config.to_dict(),
                points,
                tuple(overridden),
                analysis,
                tune,
            )
        )

    _exit(body, sys.modules[main.__module__].__doc__)


def whole_numbers(name: str, texts: list[str], least: int) -> tuple[int, ...]:
    """Return the numbers of a list flag, none below `least`."""
    try:
        numbers = tuple(int(text) for text in texts)
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < least:
        raise UserError(
            f"--{name} are whole numbers of at least {least} with commas between, as in 8,16,32, "
            f"got {','.join(texts)!r}."
        )
    return numbers


def _exit(body: Callable[[], int], about: str | None) -> None:
    if any(a in ("--help", "-help", "-h") for a in sys.argv[1:]):
        print(about, *(f"  --{flag.name}: {flag.help}" for flag in _own_flags().values()), sep="\n")
        sys.exit(0)
    exit_with(body)


def _overrides(argument: str, config: ConfigDict) -> bool:
    """Checks the path of a --config.key=value. Sets an argument of a plugin here if the file leaves
    it at its default, or if the value is None, which ml_collections would read as text.
    """
    name, _, value = argument.lstrip("-").partition("=")
    if not name.startswith("config."):
        return False
    *parents, last = name.split(".")[1:]
    inner: Any = config
    for depth, key in enumerate(parents):
        if not isinstance(inner, ConfigDict) or key not in inner:
            raise _no_key(inner, parents[:depth], key)
        inner = inner[key]
    is_none = value == "None" and last != "name"
    if isinstance(inner, ConfigDict) and last in inner and not (is_none and "name" in inner):
        return False
    if not isinstance(inner, ConfigDict) or "name" not in inner:
        raise _no_key(inner, parents, last)
    try:
        inner[last] = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        inner[last] = value
    return True


def _no_key(inner: object, path: list[str], key: str) -> UserError:
    """Return the error for a key that the part of a config at a path does not have."""
    name = ".".join(["config", *path])
    if isinstance(inner, list | tuple):
        return UserError(f'{name} is a list and is given as a whole, as in --{name}="{inner}".')
    return unknown(name, key, inner if isinstance(inner, ConfigDict) else ())


def _parse(argv: list[str]) -> None:
    rest = _parse_flags(argv)
    if rest:
        raise UserError(f"{rest[0]!r} is not a flag; flags look like --results=FOLDER.")


def _parse_flags(argv: list[str]) -> list[str]:
    """Parses the flags and returns the other arguments."""
    for argument in argv[1:]:
        name = argument.partition("=")[0]
        # absl looks for similar names, which fails at the recursion limit for a long name.
        if name.startswith("-") and len(name) > LONGEST_WORD:
            raise UserError(f"{name} is not a flag; flags look like --results=FOLDER.")
    try:
        return list(flags.FLAGS(argv)[1:])
    except flags.UnrecognizedFlagError as e:
        if "." in e.flagname and "config" in _own_flags():
            raise UserError(
                f"This command has no {e.flagname!r}. Did you mean --config.{e.flagname}?"
            ) from e
        if e.flagname in ("study", "config"):
            raise UserError(_other_flag(e.flagname)) from e
        raise unknown("This command", e.flagname, _own_flags()) from e
    except (flags.Error, AttributeError, KeyError, TypeError, ValueError) as e:
        raise UserError(f"The command line cannot be used: {one_line(e)}") from e


def _other_flag(name: str) -> str:
    """Return a sentence that names the flag which this command takes in place of `name`."""
    if name == "study" and "config" in _own_flags():
        return (
            "This command has no --study: name the study by its config, --config=configs/NAME.py."
        )
    if name == "config" and "study" in _own_flags():
        return "This command has no --config: give --study=NAME or --results=FOLDER."
    return f"This command has no --{name}."


def _own_flags() -> dict[str, flags.Flag]:
    """The flags that an entry point defines, without absl's own and without single overrides."""
    by_module = flags.FLAGS.flags_by_module_dict()
    mine = [
        f
        for module, found in by_module.items()
        if "experiments" in module or module in ("-", sys.argv[0])
        for f in found
    ]
    return {f.name: f for f in mine if "." not in f.name}
