"""Configs of studies: their files, their forms, and the overrides of the command line."""

import ast
import contextlib
import importlib.util
import inspect
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from absl import flags
from ml_collections import ConfigDict, config_flags

from pe_lab.cli import _studies
from pe_lab.runs import grid
from pe_lab.runs.errors import Interrupted, UserError, line_in, one_line, unknown
from pe_lab.runs.grid import Choice, Point
from pe_lab.runs.plugins import other_packages
from pe_lab.runs.settings import typed_values
from pe_lab.runs.system import jax_settings

if TYPE_CHECKING:
    from pe_lab.sweeps.study import ExpandedStudy

HELP = "name or file of a config; with :FORM, one of its forms"
_OTHER_TYPE = re.compile(  # what ml_collections raises
    r"override field '(.+?)'.* is of original type <class '(.+?)'> and .* type <class '(.+?)'>"
)
_KINDS = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    ConfigDict: "a group of keys",
}


@dataclass(frozen=True)
class StudyConfig:
    """The config of a study with the overrides of the command line.

    Attributes:
      points: of its sweep.
      overridden: paths that the command line set.
      analysis: the analysis spec as plain data; empty without one.
    """

    name: str
    values: dict[str, Any]
    points: list[Point]
    overridden: tuple[str, ...]
    analysis: dict[str, Any]

    def expanded(self) -> "ExpandedStudy":
        """Return the study of the points, without its analysis."""
        from pe_lab.sweeps import study  # imports JAX

        return study.expand(self.name, self.values, self.points, Path("results") / self.name)


def read(config: str, overrides: Sequence[str] = ()) -> StudyConfig:
    """Read a config, given as NAME, FILE, NAME:FORM or FILE:FORM.

    The classes that it names may be imported.

    Args:
      overrides: config.path=value.

    Raises:
      UserError: there is no such config, it cannot be loaded, or an override does not fit it.
    """
    if not config:
        raise UserError("Which study? Give its config, such as quickstart or mine.py.")
    name, form = _studies.split(config)
    file = _studies.config_file(name)
    with jax_settings.kept(f"The config {file}"):
        values, points, analysis = _load(file, form)
    _override(values, overrides)
    plain = values.to_dict()
    choices = {id(choice): choice for point in points for choice in point.values()}
    named = other_packages.packages_in(f"{plain} {list(choices.values())}")
    other_packages.allow_also(named)
    paths = tuple(text.partition("=")[0].removeprefix("config.") for text in overrides)
    study = f"{file.stem}_{form}" if form else file.stem
    return StudyConfig(study, plain, points, paths, analysis)


def study_folder(study: str) -> Path:
    """Return the folder of a study. The classes that its config file names may be imported."""
    if _studies.split(study)[0].endswith(".py"):
        with contextlib.suppress(UserError):  # records say what was trained, and not the file
            read(study)
    return _studies.folder(study)


def _override(config: ConfigDict, overrides: Sequence[str]) -> None:
    """Set the values of the command line.

    Raises:
      UserError: a path is not in the config, or a value is of another type.
    """
    flag_values = flags.FlagValues()
    rest = [f"--{text}" for text in overrides if not _sets_argument(text, config)]
    config_flags.DEFINE_config_dict("config", config, flag_values=flag_values, sys_argv=["", *rest])
    try:
        flag_values(["pe-lab", *rest])
    except (flags.Error, AttributeError, KeyError, TypeError, ValueError) as e:
        raise _other_type(config, rest) or UserError(
            f"The command line cannot be used: {one_line(e)}"
        ) from e


def _other_type(config: ConfigDict, rest: Sequence[str]) -> UserError | None:
    """Return the error of the first number, truth value or group that cannot be read."""
    for argument in rest:
        name, _, text = argument.partition("=")
        value: object = config
        for key in name.split(".")[1:]:
            value = value.get(key) if isinstance(value, ConfigDict) else None
        kind = _KINDS.get(type(value))
        if kind is None:
            continue
        try:
            read = ast.literal_eval(text)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            read = None
        allowed = (int, float) if isinstance(value, float) else type(value)
        if isinstance(value, ConfigDict):
            allowed = dict
        is_truth = isinstance(read, bool)  # which is an int
        if not isinstance(read, allowed) or is_truth != isinstance(value, bool):
            is_plugin = isinstance(value, ConfigDict) and "name" in value
            advice = f" Did you mean {name}.name={text}?" if is_plugin else ""
            return UserError(f"{name} must be {kind}, got {text!r}.{advice}")
    return None


def _sets_argument(override: str, config: ConfigDict) -> bool:
    """Check the path of an override, and set the argument of a plugin.

    Arguments that the file leaves at their defaults are set here, and so is None, which
    ml_collections would read as text or as a number.
    """
    name, _, value = override.partition("=")
    *parents, last = name.split(".")[1:]
    inner: object = config
    for depth, key in enumerate(parents):
        if not isinstance(inner, ConfigDict) or key not in inner:
            raise _no_key(inner, parents[:depth], key)
        inner = inner[key]
    if isinstance(inner, ConfigDict) and last in inner:
        if value != "None" or last == "name":
            return False
        with inner.ignore_type():  # whether it may be None is checked later
            inner[last] = None
        return True
    if not isinstance(inner, ConfigDict) or "name" not in inner:
        raise _no_key(inner, parents, last)
    try:
        inner[last] = ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError):
        inner[last] = value
    return True


def _no_key(inner: object, path: list[str], key: str) -> UserError:
    """Return the error for a key that the part of a config at a path does not have."""
    name = ".".join(["config", *path])
    if name == "config" and key == "seeds":
        return UserError("config has no 'seeds': `pe-lab sweep --seeds=3` trains the seeds 0 to 2.")
    if isinstance(inner, list | tuple):
        return UserError(f'{name} is a list and is given as a whole, as in --{name}="{inner}".')
    return unknown(name, key, inner if isinstance(inner, ConfigDict) else ())


def _load(path: Path, form: str) -> tuple[ConfigDict, list[Point], dict[str, Any]]:
    """Return the config of a file, the points of its sweep, and its analysis.

    A form, such as smoke, is a name in the file's FORMS and the argument of its functions. A form
    without an analysis of its own has the default analysis. A file without sweep() has one point.

    Raises:
      UserError: the file has no such form, or it cannot be loaded.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with _readable(path), _as_imported(module):
        spec.loader.exec_module(module)
        forms = getattr(module, "FORMS", ())
        if isinstance(forms, str):  # ("smoke") is no tuple
            raise TypeError(f'FORMS is a tuple of names, as ("smoke",), got {forms!r}')
    if isinstance(
        getattr(module, "tune", None), Mapping
    ):  # of pe_lab 0.1: it would change the runs
        raise UserError(
            f"{path} has `tune`, and pe_lab trains in one stage: name the values in sweep(), and "
            f'their axis in analysis(), as in tuned=("train.learning_rate",).'
        )
    if form and not forms:
        raise UserError(f"{path} has no form {form!r}: it has no FORMS.")
    if form and form not in forms:
        raise unknown(f"The list of forms of {path}", form, forms)
    chosen = (form,) if form else ()
    with _readable(path), _as_imported(module):
        values = module.get_config(*chosen)
        if not isinstance(values, Mapping | ConfigDict):
            raise TypeError(f"get_config() returned {values!r}, not a config")
        config = ConfigDict(typed_values.plain(values))  # sorted, so the keys must be texts
        _make_plain(config)
        points = module.sweep(*chosen) if hasattr(module, "sweep") else grid.product()
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
    return config, points, analysis


def _make_plain(config: ConfigDict) -> None:
    """Replace numbers of NumPy, and refuse keys that are no texts."""
    with config.ignore_type():
        for key, value in config.items():
            if isinstance(value, ConfigDict):
                _make_plain(value)
            else:
                config.update(typed_values.plain({key: value}))


def _analysis(module: ModuleType, chosen: tuple[str, ...]) -> dict[str, Any]:
    function = getattr(module, "analysis", None)
    if function is None or (chosen and not inspect.signature(function).parameters):
        return {}
    analysis = function(*chosen)
    if not isinstance(analysis, dict):
        raise TypeError(f"analysis() returns a dict, as dict(question=...), got {analysis!r}")
    return analysis


@contextlib.contextmanager
def _as_imported(module: ModuleType) -> Iterator[None]:
    """Let Python find a config's module by its name, as dataclasses do, while its code runs.

    A module that has this name already, such as the standard library's, keeps it.
    """
    if module.__name__ in sys.stdlib_module_names:
        importlib.import_module(module.__name__)
    is_new = sys.modules.setdefault(module.__name__, module) is module
    try:
        yield
    finally:
        if is_new:
            sys.modules.pop(module.__name__, None)


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn every error of a config, which is the user's own Python, into a sentence."""
    try:
        yield
    except Interrupted:
        raise
    except BaseException as error:  # a script may call sys.exit(), or raise anything
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
        return f"{type(error).__name__}: {text}" if str(error).strip() else type(error).__name__
    key, value_type = match.group(1), match.group(2).rpartition(".")[2]
    wanted = match.group(3).rpartition(".")[2]
    wanted = wanted.replace("ConfigDict", "dict, such as dict(name=...)")
    advice = "; a tuple of one value ends with a comma" if wanted == "tuple" else ""
    value_type = value_type.replace("ConfigDict", "dict")
    return f"{key!r} must be of type {wanted}, got {value_type}{advice}."
