"""Specs of plugins in a config: encodings with their sites, and the evaluated task."""

from collections.abc import Mapping
from typing import Any

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.settings import typed_values
from pe_lab.runs.settings.declarations import declared_settings, read
from pe_lab.runs.settings.plugin import Encoding, Plugin


def evaluated_task(task: Plugin, exact_operands: str) -> Plugin:
    """Return the task that evaluation draws from, given `evaluate.exact_operands`."""
    if exact_operands == "none":
        return task
    exact = plugins.build("tasks", task).exact_arguments(exact_operands)
    arguments = {**dict(task.arguments), **exact}
    for name, value in arguments.items():
        if isinstance(value, tuple) and value and isinstance(value[0], Plugin):  # a mixture's tasks
            arguments[name] = tuple(evaluated_task(inner, exact_operands) for inner in value)
    return Plugin(task.name, tuple(sorted(arguments.items())))


def encodings(specs: object) -> tuple[Encoding, ...]:
    """Return the checked encodings of a model.

    Args:
      specs: a tuple of dict(name=..., ...).
    """
    if not isinstance(specs, list | tuple):
        raise UserError(f"Encodings are a tuple of dict(name=...), got {specs!r}.")
    return tuple(map(_encoding, specs))


def _encoding(spec: object) -> Encoding:
    if not isinstance(spec, Mapping):
        raise UserError(f"One of the encodings is given as dict(name=..., ...), got {spec!r}.")
    site_keys = declared_settings(Encoding)
    # A record holds `reads_positions`, which the class says.
    arguments = {k: v for k, v in spec.items() if k not in (*site_keys, "reads_positions")}
    plugin = plugins.resolve("encodings", arguments)
    name = plugin.name
    cls: Any = plugins.find("encodings", name)
    stated = {key: spec[key] for key in site_keys if spec.get(key) is not None}
    if "positions" in stated and not cls.requirements.reads_positions:
        raise UserError(f"{name} reads no positions: it takes no positions.")
    if cls.requirements.site == "input":
        misplaced = stated.keys() & {"layers", "share", "heads"}
        if misplaced:
            raise UserError(f"{name} acts at the input: it takes no {min(misplaced)}.")
    else:
        # An attention encoding always states `share`; None marks an encoding at the input.
        stated.setdefault("share", not cls.requirements.per_layer)
    readers = {
        f"{name}'s positions": _own_scheme,
        f"{name}'s share": lambda value: typed_values.checked(value, bool, f"{name}'s share"),
    }
    site = read(Encoding, stated, f"{name}'s {{}}".format, readers)
    if site.get("axis") is not None and site["axis"] < 0:
        raise UserError(f"{name}'s axis must be 0 or more, got {site['axis']}.")
    return Encoding(
        name=name,
        arguments=plugin.arguments,
        **{key: site.get(key) for key in site_keys},
        reads_positions=cls.requirements.reads_positions,
    )


def _own_scheme(spec: object) -> Plugin:
    if isinstance(spec, str):  # as a label writes it: fire(positions=contiguous)
        spec = dict(name=spec)
    return plugins.resolve("positions", spec)
