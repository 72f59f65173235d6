"""Specs of plugins in a config: encodings with their sites, and the evaluated task."""

from collections.abc import Mapping
from typing import Any

from pe_lab.runs import plugins, typed_values
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import Plugin
from pe_lab.runs.settings import Encoding

# The keys of an encoding that say where it acts. All others are its class's arguments.
_SITE_KEYS = ("layers", "share", "heads", "stacks", "axis", "positions")


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


def encodings(specs: Any) -> tuple[Encoding, ...]:
    """Return the checked encodings of a model.

    Args:
      specs: a tuple of dict(name=..., ...).
    """
    if not isinstance(specs, list | tuple):
        raise UserError(f"Encodings are a tuple of dict(name=...), got {specs!r}.")
    return tuple(map(_encoding, specs))


def _encoding(spec: Any) -> Encoding:
    if not isinstance(spec, Mapping):
        raise UserError(f"One of the encodings is given as dict(name=..., ...), got {spec!r}.")
    # A record holds `reads_positions`, which the class says.
    arguments = {k: v for k, v in spec.items() if k not in (*_SITE_KEYS, "reads_positions")}
    plugin = plugins.resolve("encodings", arguments)
    name = plugin.name
    cls: Any = plugins.find("encodings", name)
    site = {key: spec[key] for key in _SITE_KEYS if spec.get(key) is not None}
    texts = tuple[str, ...] | None
    stacks = typed_values.checked(site.pop("stacks", None), texts, f"{name}'s stacks")
    axis = typed_values.checked(site.pop("axis", None), int | None, f"{name}'s axis")
    if axis is not None and axis < 0:
        raise UserError(f"{name}'s axis must be 0 or more, got {axis}.")
    positions = site.pop("positions", None)
    if isinstance(positions, str):  # as a label writes it: fire(positions=contiguous)
        positions = dict(name=positions)
    if positions is not None and not cls.requirements.reads_positions:
        raise UserError(f"{name} reads no positions: it takes no positions.")
    layers = share = heads = None
    if cls.requirements.site == "input":
        if site:
            raise UserError(f"{name} acts at the input: it takes no {sorted(site)[0]}.")
    else:
        integers = tuple[int, ...] | None
        layers = typed_values.checked(site.get("layers"), integers, f"{name}'s layers")
        heads = typed_values.checked(site.get("heads"), integers, f"{name}'s heads")
        default = not cls.requirements.per_layer
        share = typed_values.checked(site.get("share", default), bool, f"{name}'s share")
    return Encoding(
        name=name,
        arguments=plugin.arguments,
        layers=layers,
        share=share,
        heads=heads,
        stacks=stacks,
        axis=axis,
        positions=None if positions is None else plugins.resolve("positions", positions),
        reads_positions=cls.requirements.reads_positions,
    )
