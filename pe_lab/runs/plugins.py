"""From a name in a config to the class in the file of that name.

    plugins.resolve("encodings", dict(name="rope", base=5e5))   # -> Plugin, all defaults filled in
    plugins.build("encodings", plugin, width=64, num_heads=4, ...)

A name is a file of the family's folder (pe_lab/encodings/rope.py), or a user's own class as
"package.module:Class". Nothing is registered anywhere.
"""

import hashlib
import importlib
import importlib.util
import inspect
import math
import pkgutil
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from pe_lab.choices import choice_error, parameters
from pe_lab.runs.errors import UserError, one_line, unknown

# What a constructor may ask for by parameter name; everything else it takes comes from the config.
CONTEXT = {
    "encodings": ("width", "num_heads", "head_dim", "num_layers", "bidirectional", "rngs"),
    "positions": ("num_layers",),
    "tasks": (),
    "sweeps.launchers": (),
}
_NOT_PLUGINS = ("base", "batch", "chance", "layouts", "ops", "requirements")


@dataclass(frozen=True)
class Plugin:
    """A name and all its arguments, defaults included; an argument may be a plugin of the same
    family.
    """

    name: str
    arguments: tuple[tuple[str, Any], ...]

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Plugin":
        """Return the plugin of the plain values that `to_dict` gave. Nothing is imported."""
        arguments = dict(values)
        name = arguments.pop("name")
        return cls(name, tuple(sorted((key, _argument(v)) for key, v in arguments.items())))

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            **{k: v.to_dict() if isinstance(v, Plugin) else v for k, v in self.arguments},
        }

    def parts(self) -> list["Plugin"]:
        """Itself and the plugins among its arguments."""
        return [
            self,
            *(part for _, v in self.arguments if isinstance(v, Plugin) for part in v.parts()),
        ]


def _argument(value: Any) -> Any:
    """Return an argument of plain values: a plugin, a tuple, or the value."""
    if isinstance(value, Mapping):
        return Plugin.from_dict(value)
    if isinstance(value, list | tuple):
        return tuple(_argument(item) for item in value)
    return value


def names(family: str) -> list[str]:
    """The names that a config may use: the files of the family's folder."""
    spec = importlib.util.find_spec(f"pe_lab.{family}")
    folders = spec.submodule_search_locations if spec else None
    found = pkgutil.iter_modules(list(folders or ()))
    return sorted(
        m.name for m in found if m.name not in _NOT_PLUGINS and not m.name.startswith("_")
    )


def _has_file(family: str, name: str) -> bool:
    """Whether `name` is one of `names(family)`, without listing the folder."""
    if not name.isidentifier() or name.startswith("_") or name in _NOT_PLUGINS:
        return False
    return importlib.util.find_spec(f"pe_lab.{family}.{name}") is not None


def _folder(family: str) -> str:
    return f"pe_lab/{family.replace('.', '/')}"


def find(family: str, name: str) -> type:
    """The class that `name` stands for.

    Raises:
      UserError: no such file, module or class, or a class of another family.
    """
    if ":" in name:
        return _users_own(family, name)
    if not _has_file(family, name):
        raise unknown(_folder(family), name, names(family))
    module = _imported(f"pe_lab.{family}.{name}")
    found = [c for c in vars(module).values() if _defined_in(c, module) and _belongs(family, c)]
    if len(found) != 1:
        raise UserError(
            f"{_folder(family)}/{name}.py must define one public class of its family, it defines "
            f"{len(found)}."
        )
    return found[0]


def _users_own(family: str, name: str) -> type:
    module_name, _, class_name = name.partition(":")
    module = _imported(module_name, name)
    if not isinstance(cls := getattr(module, class_name, None), type):
        raise unknown(
            module_name, class_name, (n for n, c in vars(module).items() if _defined_in(c, module))
        )
    if not _belongs(family, cls):
        raise UserError(
            f"{name!r} is none of the {family}: it must extend a class of "
            f"{_folder(family)}/base.py."
        )
    return cls


def _imported(module_name: str, name: str | None = None) -> types.ModuleType:
    try:
        return importlib.import_module(module_name)
    except Exception as e:  # it may be the user's own Python
        text = f"{(name or module_name)!r} cannot be imported: {type(e).__name__}: {one_line(e)}."
        package = module_name.partition(".")[0]
        if isinstance(e, ModuleNotFoundError) and e.name == package:
            text += f" The folder that holds {package} must be on PYTHONPATH."
        raise UserError(text) from e


def source_digest(family: str, name: str) -> str | None:
    """A hash of the file that defines a plugin's class; None if there is no file.

    A plugin of pe_lab is not imported.
    """
    if ":" in name:
        file = inspect.getsourcefile(find(family, name))
    else:
        file = str(Path(__file__).parents[1] / family.replace(".", "/") / f"{name}.py")
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16] if file else None


def changed(sources: Mapping[str, str | None]) -> list[str]:
    """The plugins whose file is no longer the one of the digest, or is gone.

    Args:
      sources: digest of the file by family and name, as in "encodings/rope".
    """
    return [plugin for plugin, digest in sources.items() if _digest_now(plugin) != digest]


def _digest_now(plugin: str) -> str | None:
    family, _, name = plugin.partition("/")
    try:
        return source_digest(family, name)
    except (UserError, OSError):
        return None


def _defined_in(cls: object, module: types.ModuleType) -> bool:
    return (
        isinstance(cls, type)
        and cls.__module__ == module.__name__
        and not cls.__name__.startswith("_")
    )


def _belongs(family: str, cls: type) -> bool:
    return any(parent.__module__ == f"pe_lab.{family}.base" for parent in cls.__mro__[1:])


def resolve(family: str, spec: Any) -> Plugin:
    """A config's dict(name=..., argument=...) with every argument checked and every default filled
    in.
    """
    if not isinstance(spec, Mapping) or not isinstance(spec.get("name"), str):
        raise UserError(f"One of the {family} is given as dict(name=..., ...), got {spec!r}.")
    name = spec["name"]
    given = {key: value for key, value in spec.items() if key != "name"}
    takes = {k: p for k, p in parameters(find(family, name)).items() if k not in CONTEXT[family]}
    for key in given:
        if key not in takes:
            raise unknown(f"{name}", key, takes)
    resolved = {}
    for key, parameter in takes.items():
        value = given.get(key, parameter.default)
        if value is inspect.Parameter.empty:
            raise UserError(f"{name} needs {key}: dict(name={name!r}, {key}=...).")
        inner = _is_of(family, parameter.annotation)
        resolved[key] = (_inner if inner else checked)(
            value, parameter.annotation, f"{name}'s {key}"
        )
    return Plugin(name, tuple(sorted(resolved.items())))


def _is_of(family: str, annotation: Any) -> bool:
    """Whether an argument is itself one of the family."""
    return getattr(annotation, "__module__", None) == f"pe_lab.{family}.base"


def _inner(value: Any, annotation: Any, name: str) -> Plugin:
    family = annotation.__module__.split(".")[1]
    found = resolve(family, {"name": value} if isinstance(value, str) else value)
    if not issubclass(find(family, found.name), annotation):
        raise UserError(
            f"{name} must be one of the {_spaced(annotation.__name__)}s, got {found.name}."
        )
    return found


def _spaced(name: str) -> str:
    """AttentionEncoding -> attention encoding."""
    return "".join(f" {c.lower()}" if c.isupper() else c for c in name).strip()


def build(family: str, plugin: Plugin, **context: Any) -> Any:
    """The plugin's object. A ValueError of its constructor is the user's mistake."""
    cls = find(family, plugin.name)
    asked = {k: v for k, v in context.items() if k in parameters(cls)}
    try:
        given = {
            k: build(family, v, **context) if isinstance(v, Plugin) else v
            for k, v in plugin.arguments
        }
        return cls(**given, **asked)
    except ValueError as e:
        raise UserError(one_line(e)) from e


def checked(value: Any, annotation: Any, name: str) -> Any:
    """`value` if it has the annotated type (int, float, str, bool, tuple, Literal, unions of
    these).
    """
    if annotation in (Any, inspect.Parameter.empty):
        return value
    if isinstance(value, list):
        value = tuple(value)
    origin = typing.get_origin(annotation)
    if origin is Literal:
        message = choice_error(value, annotation, name)
        if message is not None:
            raise UserError(message)
        return value
    if origin in (typing.Union, types.UnionType):
        options = typing.get_args(annotation)
        for option in options:
            try:
                return checked(value, option, name)
            except UserError:
                continue
        raise UserError(f"{name} must be {' or '.join(map(_readable, options))}, got {value!r}.")
    if annotation is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if annotation is float and isinstance(value, float) and not math.isfinite(value):
        raise UserError(f"{name} must be a finite number, got {value!r}.")
    if origin is tuple:
        if not isinstance(value, tuple):
            raise UserError(f"{name} must be {_readable(annotation)}, got {value!r}.")
        item, *more = typing.get_args(annotation)
        return (
            tuple(checked(v, item, f"{name}[{i}]") for i, v in enumerate(value))
            if more == [Ellipsis]
            else value
        )
    expected = types.NoneType if annotation is None else annotation
    if isinstance(expected, type) and (
        not isinstance(value, expected) or (expected is int and isinstance(value, bool))
    ):
        raise UserError(f"{name} must be {_readable(annotation)}, got {value!r}.")
    return value


def _readable(annotation: Any) -> str:
    words = {
        int: "a whole number",
        float: "a number",
        str: "a text",
        bool: "True or False",
        types.NoneType: "None",
    }
    if typing.get_origin(annotation) is tuple:
        return f"a tuple of {_readable(typing.get_args(annotation)[0]).removeprefix('a ')}s"
    return words.get(annotation, getattr(annotation, "__name__", str(annotation)))
