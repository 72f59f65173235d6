"""Config files of studies: where they are, their forms, and what their functions return."""

import contextlib
import importlib.util
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from ml_collections import ConfigDict

from pe_lab.cli import _studies
from pe_lab.runs import grid
from pe_lab.runs.errors import Interrupted, UserError, line_in, one_line, unknown
from pe_lab.runs.grid import Choice, Point
from pe_lab.sweeps import tuning
from pe_lab.sweeps.tuning import Tuning

_OTHER_TYPE = re.compile(  # what ml_collections raises
    r"override field '(.+?)'.* is of original type <class '(.+?)'> and .* type <class '(.+?)'>"
)


def from_arguments(argv: list[str]) -> tuple[list[str], Path, str]:
    """Return the other arguments, the file and the form of --config=FILE or --config=FILE:FORM.

    The form is "" without one.

    Raises:
      UserError: there is no --config, or no such file.
    """
    config, others = None, []
    arguments = iter(argv)
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if name in ("--config", "-config"):
            config = value if equals else next(arguments, "")
        else:
            others.append(argument)
    if config is None:
        raise UserError("Which study? Give its config: --config=quickstart.")
    name, _, form = config.partition(":")
    return others, _studies.config_file(name), form


def load(path: Path, form: str) -> tuple[ConfigDict, list[Point], dict[str, Any], Tuning | None]:
    """Return the config of a file, the points of its sweep, its analysis, and its tuning.

    A form, such as smoke, is an argument of the file's functions. If analysis() does not take it,
    the form lacks some of the variants, and it has the default analysis. A file without sweep() has
    one point.

    Raises:
      UserError: the file has no such form, or it cannot be loaded.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _readable(path):
        spec.loader.exec_module(module)
        forms = _parameters(module.get_config)
    if form and not forms:
        raise UserError(f"{path} has no form {form!r}: its get_config() takes no arguments.")
    if form and form not in forms:
        raise unknown(f"The list of forms of {path}", form, forms)
    chosen = {form: True} if form else {}
    with _readable(path):
        values = module.get_config(**chosen)
        if not isinstance(values, Mapping | ConfigDict):
            raise TypeError(f"get_config() returned {values!r}, not a config")
        config = ConfigDict(values)
        points = module.sweep(**chosen) if hasattr(module, "sweep") else grid.product()
        if not isinstance(points, list):
            raise TypeError(
                f"sweep() returns a list of points, as grid.product(...) does, got {points!r}"
            )
        for point in points:
            if not isinstance(point, dict) or not all(
                isinstance(c, Choice) for c in point.values()
            ):
                raise TypeError(f"sweep() returns points of grid.product(...), got {point!r}")
        analysis = _analysis(module, chosen)
    tune = getattr(module, "tune", None)
    return config, points, analysis, None if tune is None else tuning.read(tune)


def _analysis(module: ModuleType, chosen: dict[str, bool]) -> dict[str, Any]:
    function = getattr(module, "analysis", None)
    if function is None or not chosen.keys() <= set(_parameters(function)):
        return {}
    analysis = function(**chosen)
    if not isinstance(analysis, dict):
        raise TypeError(f"analysis() returns a dict, as dict(question=...), got {analysis!r}")
    return analysis


def _parameters(function: Callable[..., object]) -> list[str]:
    return list(inspect.signature(function).parameters)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn every error of a config, which is the user's own Python, into a sentence."""
    try:
        yield
    except Interrupted:
        raise
    except (Exception, SystemExit, KeyboardInterrupt) as error:  # a script may call sys.exit()
        raise UserError(
            f"The config {_place(path, error)} cannot be loaded: {_reason(error)}"
        ) from error


def _place(path: Path, error: BaseException) -> str:
    """Return the file, with the line of the config that raised an error."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{path} ({error.filename}, line {error.lineno})"
    line = line_in(path, error)
    return str(path) if line is None else f"{path} (line {line})"


def _reason(error: BaseException) -> str:
    """Return one line. A value of another type than the config's is named as in the config."""
    text = one_line(error)
    match = _OTHER_TYPE.search(text)
    if match is None:
        return f"{type(error).__name__}: {text}"
    key, value_type = match.group(1), match.group(2).rpartition(".")[2]
    wanted = match.group(3).rpartition(".")[2]
    wanted = wanted.replace("ConfigDict", "dict, such as dict(name=...)")
    advice = "; a tuple of one value ends with a comma" if wanted == "tuple" else ""
    value_type = value_type.replace("ConfigDict", "dict")
    return f"{key!r} must be of type {wanted}, got {value_type}{advice}."
