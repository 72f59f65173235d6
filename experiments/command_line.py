"""What all entry points share: flags in, one clear sentence out when they are wrong, exit status 2
then.
"""

import ast
import dataclasses
import errno
import importlib.util
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from absl import flags
from ml_collections import ConfigDict, config_flags

from pe_lab.runs import grid
from pe_lab.runs.errors import UserError, one_line, unknown
from pe_lab.runs.grid import Point
from pe_lab.sweeps import tuning
from pe_lab.sweeps.tuning import Tuning

_OTHER_TYPE = re.compile(  # what ml_collections raises
    r"override field '(.+?)'.* is of original type <class '(.+?)'> and .* type <class '(.+?)'>"
)
_DISK = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
)  # what a disk may refuse


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
    """The same for entry points that take --config=configs/x.py, or configs/x.py:smoke, and
    --config.key=value.
    """

    def body() -> int:
        argv, path, smoke = _take_config(sys.argv)
        config, points, analysis, tune = _load(path, smoke)
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
                path.stem + "_smoke" * smoke,
                config.to_dict(),
                points,
                tuple(overridden),
                analysis,
                tune,
            )
        )

    _exit(body, sys.modules[main.__module__].__doc__)


def whole_numbers(name: str, texts: list[str]) -> tuple[int, ...]:
    """The numbers of a list flag, none below 0."""
    try:
        numbers = tuple(int(text) for text in texts)
    except ValueError:
        numbers = ()
    if not numbers or min(numbers) < (name == "lengths"):
        raise UserError(
            f"--{name} are whole numbers with commas between, as in 8,16,32, got "
            f"{','.join(texts)!r}."
        )
    return numbers


def _exit(body: Callable[[], int], about: str | None) -> None:
    if any(a in ("--help", "-help", "-h") for a in sys.argv[1:]):
        print(about, *(f"  --{flag.name}: {flag.help}" for flag in _own_flags().values()), sep="\n")
        sys.exit(0)
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # to be ended is to be stopped: workers save and leave
    try:
        status = body()
        sys.stdout.flush()  # here, and not at the exit, a reader may be gone
        sys.exit(status)
    except UserError as e:
        print(f"error: {e}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader, head perhaps, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as e:
        if e.errno not in _DISK:
            raise
        print(
            f"error: {one_line(e)}; what is finished is kept, and the same command goes on",
            file=sys.stderr,
        )
        sys.exit(1)
    except KeyboardInterrupt:
        print(
            "stopped; what is finished is kept, and the same command goes on from the last "
            "checkpoints",
            file=sys.stderr,
        )
        sys.exit(130)


def _take_config(argv: list[str]) -> tuple[list[str], Path, bool]:
    """Splits --config=FILE, or FILE:smoke, off the arguments."""
    given, rest = None, []
    arguments = iter(argv)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in ("--config", "-config"):
            given = value if equals else next(arguments, "")
        else:
            rest.append(argument)
    if given is None:
        raise UserError("Which study? Give its config: --config=configs/quickstart.py.")
    found, smoke = Path(given.removesuffix(":smoke")), given.endswith(":smoke")
    if found.suffix != ".py" or not found.is_file():
        named = found.suffix == ".py" and found.parent.is_dir()
        folder = found.parent if named else Path("configs")
        raise unknown(
            str(folder), found.name if named else str(found), (p.name for p in folder.glob("*.py"))
        )
    return rest, found, smoke


def _load(path: Path, smoke: bool) -> tuple[ConfigDict, list[Point], dict[str, Any], Tuning | None]:
    """The config of a file, its sweep's points (the one point without overrides if it has no
    sweep), its analysis, and its tuning.

    A small form has not all variants, so its analysis is the default one.
    """
    small = (
        {"smoke": True} if smoke else {}
    )  # a study's functions take it where the study has a small form
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        config = ConfigDict(module.get_config(**small))
        points = module.sweep(**small) if hasattr(module, "sweep") else grid.product()
        if not isinstance(points, list):
            raise TypeError(
                f"sweep() returns a list of points, as grid.product(...) does, got {points!r}"
            )
        analysis = module.analysis() if hasattr(module, "analysis") and not smoke else {}
        if not isinstance(analysis, dict):
            raise TypeError(f"analysis() returns a dict, as dict(question=...), got {analysis!r}")
    except Exception as e:  # a config is the user's own Python
        raise UserError(f"The config {_place(path, e)} cannot be loaded: {_reason(e)}") from e
    tune = getattr(module, "tune", None)
    return config, points, analysis, None if tune is None else tuning.read(tune)


def _place(path: Path, error: Exception) -> str:
    """The file, with the line of the config that raised an error."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{path} ({error.filename}, line {error.lineno})"
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).resolve() == path.resolve()]
    return f"{path} (line {lines[-1]})" if lines else str(path)


def _reason(error: Exception) -> str:
    """One line; a value of another type than the config's in the terms of the config."""
    text = one_line(error)
    if match := _OTHER_TYPE.search(text):
        key, given, wanted = match.group(1), match.group(2).rpartition(".")[2], match.group(3)
        advice = "; a tuple of one value ends with a comma" if wanted == "tuple" else ""
        return (
            f"{key!r} must be of type {wanted}, got {given.replace('ConfigDict', 'dict')}{advice}."
        )
    return f"{type(error).__name__}: {text}"


def _overrides(argument: str, config: ConfigDict) -> bool:
    """Checks the path of a --config.key=value; a plugin's argument that the file leaves at its
    default is set here.
    """
    name, _, value = argument.lstrip("-").partition("=")
    if not name.startswith("config."):
        return False
    *parents, last = name.split(".")[1:]
    inner: Any = config
    for depth, key in enumerate(parents):
        if not isinstance(inner, ConfigDict) or key not in inner:
            raise unknown(
                ".".join(["config", *parents[:depth]]),
                key,
                inner if isinstance(inner, ConfigDict) else (),
            )
        inner = inner[key]
    if isinstance(inner, ConfigDict) and last in inner:
        return False
    if not isinstance(inner, ConfigDict) or "name" not in inner:
        raise unknown(
            ".".join(["config", *parents]), last, inner if isinstance(inner, ConfigDict) else ()
        )
    try:
        inner[last] = ast.literal_eval(value)
    except (ValueError, SyntaxError):
        inner[last] = value
    return True


def _parse(argv: list[str]) -> None:
    rest = _parse_flags(argv)
    if rest:
        raise UserError(f"{rest[0]!r} is not a flag; flags look like --results=FOLDER.")


def _parse_flags(argv: list[str]) -> list[str]:
    """Parses the flags and returns the other arguments."""
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
