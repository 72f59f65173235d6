"""Encodings, position schemes, tasks, training lengths, optimizers and launchers by name.

    plugins.resolve("encodings", dict(name="rope", base=5e5))   # a Plugin with all defaults
    plugins.build("encodings", plugin, width=64, num_heads=4, ...)

A name is a file of the family's folder (pe_lab/encodings/rope.py) or of a part (parts.py), a user's
class as "package.module:Class", or an entry point of an installed package (other_packages.py).
"""

import importlib
import inspect
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pe_lab import parts
from pe_lab.choices import parameters
from pe_lab.runs.errors import Interrupted, UserError, described, line_in, one_line, unknown
from pe_lab.runs.plugins import other_packages
from pe_lab.runs.settings.declarations import check_keys
from pe_lab.runs.settings.plugin import Plugin
from pe_lab.runs.settings.typed_values import checked
from pe_lab.runs.system import jax_settings

# Constructor parameters that the model supplies, by name. All others come from the config.
CONTEXT = {
    "encodings": ("width", "num_heads", "head_dim", "num_layers", "bidirectional", "rngs"),
    "positions": ("num_layers",),
    "tasks": (),
    "training.lengths": (),
    "training.optimizers": (),
    "sweeps.launchers": (),
}
_NOT_PLUGINS = ("attributes", "base", "batch", "chance_levels", "layouts", "ops", "requirements")


def names(family: str) -> list[str]:
    """Return the names that a config may use: the files of the family's folders."""
    return [name for name in parts.names(family) if name not in _NOT_PLUGINS]


def _module(family: str, name: str) -> str | None:
    """Return the module of one of `names(family)`, without listing the folders."""
    if not name.isidentifier() or name in _NOT_PLUGINS or name.startswith("_"):
        return None
    return parts.module(family, name)


def _folder(family: str) -> str:
    return f"pe_lab/{family.replace('.', '/')}"


def _without_entry_point(family: str, name: str) -> str:
    """Return the name as runs hold it: of a file, or "package.module:Class".

    Raises:
      UserError: the family has no such name.
    """
    if ":" in name or _module(family, name):
        return name
    installed = other_packages.installed(family)
    if name not in installed:
        raise unknown(_folder(family), name, [*names(family), *installed])
    return installed[name]


def find(family: str, name: str) -> type:
    """Return the class of a name.

    Raises:
      UserError: no such file, module or class, a class of another family, or one that may not be
        imported (other_packages.py).
    """
    name = _without_entry_point(family, name)
    if ":" in name:
        return _find_user_class(family, name)
    path = _module(family, name) or name  # `_without_entry_point` has checked that it exists
    module = _import(path)
    public_classes = _public_classes(module).values()
    classes = [cls for cls in public_classes if _belongs(family, cls)]
    if len(classes) != 1:
        raise UserError(
            f"{path.replace('.', '/')}.py must define one public class of its family, it defines "
            f"{len(classes)}."
        )
    return classes[0]


def _find_user_class(family: str, name: str) -> type:
    """Return the class of "package.module:Class"."""
    other_packages.check(name)
    module_name, _, class_name = name.partition(":")
    module = _import(module_name, name)
    cls = getattr(module, class_name, None)
    if not isinstance(cls, type):
        raise unknown(module_name, class_name, _public_classes(module))
    if not _belongs(family, cls):
        raise UserError(
            f"{name!r} is none of the {family}: it must extend a class of "
            f"{_folder(family)}/base.py."
        )
    return cls


def _import(module_name: str, name: str | None = None) -> types.ModuleType:
    """Return a module.

    Args:
      name: what the error names; None: the module.
    """
    with jax_settings.kept(repr(name or module_name)):
        try:
            return importlib.import_module(module_name)
        except Interrupted:
            raise
        except BaseException as e:  # a user's module may raise anything, or call exit
            text = f"{(name or module_name)!r} cannot be imported: {described(e).rstrip('.')}."
            package = module_name.partition(".")[0]
            if isinstance(e, ModuleNotFoundError) and e.name == package:
                text += (
                    f" The folder that holds {package} must be the current one, or on PYTHONPATH."
                )
            raise UserError(text) from e


def _public_classes(module: types.ModuleType) -> dict[str, type]:
    """Return the public classes that a module defines, without those that it imports."""
    classes = {}
    for name, value in vars(module).items():
        is_class = isinstance(value, type) and value.__module__ == module.__name__
        if is_class and not value.__name__.startswith("_"):
            classes[name] = value
    return classes


def _belongs(family: str, cls: type) -> bool:
    """Whether a class extends a class of the family's base.py."""
    # Without the class itself: the base classes are no members of their family.
    return any(parent.__module__ == f"pe_lab.{family}.base" for parent in cls.__mro__[1:])


def resolve(family: str, spec: object) -> Plugin:
    """Return the plugin of dict(name=..., argument=...), checked and with all defaults.

    Raises:
      UserError: an unknown name, or an argument that is unknown, missing or of another type.
    """
    if not isinstance(spec, Mapping) or not isinstance(spec.get("name"), str):
        raise UserError(f"One of the {family} is given as dict(name=..., ...), got {spec!r}.")
    name = _without_entry_point(family, spec["name"])
    values = {key: value for key, value in spec.items() if key != "name"}
    cls: Any = find(family, name)
    later = getattr(cls, "later_arguments", ())
    allowed_parameters = dict(parameters(cls))
    for key in CONTEXT[family]:
        allowed_parameters.pop(key, None)
    check_keys(name, values, allowed_parameters)
    arguments = {}
    for key, parameter in allowed_parameters.items():
        value = values.get(key, parameter.default)
        if value is inspect.Parameter.empty:
            raise UserError(f"{name} needs {key}: dict(name={name!r}, {key}=...).")
        # A new argument at its default is left out, so that older runs keep their ids.
        if key in later and value == parameter.default:
            continue
        arguments[key] = _resolve_argument(family, value, parameter.annotation, f"{name}'s {key}")
    # Sorted, because the order in a config must not change a run's id.
    return Plugin(name, tuple(sorted(arguments.items())))


def _resolve_argument(family: str, value: object, annotation: Any, name: str) -> object:
    """Return a checked argument, which may be a plugin of the same family or a tuple of them."""
    is_tuple = typing.get_origin(annotation) is tuple
    cls = typing.get_args(annotation)[0] if is_tuple else annotation
    if getattr(cls, "__module__", None) != f"pe_lab.{family}.base":
        return checked(value, annotation, name)
    if is_tuple:
        return _resolve_several(family, value, cls, name)
    return _resolve_inner(family, value, cls, name)


def _resolve_several(family: str, value: object, cls: type, name: str) -> tuple[Plugin, ...]:
    """Return an argument that is a tuple of plugins of the same family."""
    if not isinstance(value, list | tuple):
        raise UserError(f"{name} must be a tuple of dict(name=..., ...), got {value!r}.")
    inner = [_resolve_inner(family, v, cls, f"{name}[{i}]") for i, v in enumerate(value)]
    return tuple(inner)


def _resolve_inner(family: str, value: object, cls: type, name: str) -> Plugin:
    """Return an argument that is a plugin of the same family and extends `cls`."""
    spec = {"name": value} if isinstance(value, str) else value
    plugin = resolve(family, spec)
    if not issubclass(find(family, plugin.name), cls):
        words = re.findall("[A-Z][^A-Z]*", cls.__name__)  # AttentionEncoding: Attention, Encoding
        kind = " ".join(words).lower()
        raise UserError(f"{name} must be one of the {kind}s, got {plugin.name}.")
    return plugin


def build(family: str, plugin: Plugin, **context: object) -> Any:
    """Return the object of a plugin.

    Args:
      context: values for the parameters in `CONTEXT`. Those that the class does not take are
        ignored.

    Raises:
      UserError: the constructor raised ValueError, so the arguments are the user's mistake, or the
        constructor of a user's class raised another error.
    """
    cls = find(family, plugin.name)
    supplied_context = {key: value for key, value in context.items() if key in parameters(cls)}
    try:
        arguments: dict[str, object] = {}
        for key, value in plugin.arguments:
            if isinstance(value, tuple):
                arguments[key] = tuple(_built(family, item, context) for item in value)
            else:
                arguments[key] = _built(family, value, context)
        return cls(**arguments, **supplied_context)
    except ValueError as e:
        raise UserError(one_line(e)) from e
    except Interrupted:
        raise
    except BaseException as e:
        # An error of a class of pe_lab is a fault of pe_lab and keeps its traceback.
        if ":" not in plugin.name:
            raise
        raise _constructor_error(plugin.name, cls, e) from e


def _constructor_error(name: str, cls: type, error: BaseException) -> UserError:
    """Return a sentence for an error in the constructor of a user's class, with its line."""
    where = inspect.getsourcefile(cls) or name
    line = line_in(Path(where), error)
    if line is not None:
        where = f"{where}, line {line}"
    return UserError(f"{name!r} cannot be built ({where}): {described(error)}.")


def _built(family: str, value: object, context: Mapping[str, object]) -> object:
    return build(family, value, **context) if isinstance(value, Plugin) else value
