"""The only reader of a user's config: from the values of a ConfigDict to a checked `Run`.

configs/base.py states every setting once, so nothing has a default here. The arguments of plugins
have their defaults in their classes, next to their citation. They are resolved into the run, so a
record is complete.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from pe_lab.runs import plugins, typed_values
from pe_lab.runs.checks import check, check_override
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.labels import argument_label, label
from pe_lab.runs.plugins import Plugin
from pe_lab.runs.record_schema import JsonObject
from pe_lab.runs.run import Override, Run
from pe_lab.runs.settings import Encoding, InitFrom, Model

_NUM_VALIDATED = 8  # validation lengths by default
# The keys of an encoding that say where it acts. All others are its class's arguments.
_SITE_KEYS = ("layers", "share", "heads", "stacks", "axis", "positions")
# The family of each plugin, by its place in a config.
_FAMILIES = {
    "config.task": "tasks",
    "config.positions": "positions",
    "config.train.lengths": "training.lengths",
}
_DERIVED = {"evaluated_task"}  # fields of a run that no config holds
# The keys of an evaluation override, in the order of its label.
_OVERRIDABLE = ("encodings", "positions", "task", "num_loops", "logit_temperature")
_EXAMPLE_OVERRIDE = "dict(positions=..., encodings=..., task=..., num_loops=...)"


def from_dict(values: JsonObject) -> Run:
    """Return a checked run.

    Args:
      values: of a config (ConfigDict.to_dict()) or of a record's "config".

    Raises:
      UserError: an unknown or missing key, argument, encoding, scheme or task; a value of the wrong
        type or out of range.
    """
    # The launcher of a run's process is no setting of the run.
    values = {k: v for k, v in values.items() if k not in _DERIVED and k != "launcher"}
    if values.get("data_seed") is None:
        values["data_seed"] = values.get("seed")
    values = _with_validation_lengths(values)
    settings = _fields(Run, values, "config")
    task, evaluate = settings["task"], settings["evaluate"]
    _check_attributes(task, evaluate.attributes)
    run = Run(**settings, evaluated_task=evaluated_task(task, evaluate.exact_operands))
    overrides = [override(spec, run) for spec in values["evaluate"]["overrides"]]
    evaluate = dataclasses.replace(evaluate, overrides=tuple(overrides))
    run = dataclasses.replace(run, evaluate=evaluate)
    check(run)
    return run


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


def _check_attributes(task: Plugin, names: Sequence[str]) -> None:
    cls: Any = plugins.find("tasks", task.name)
    for name in names:
        if name not in cls.attributes:
            raise unknown(f"config.evaluate.attributes: the task {task.name}", name, cls.attributes)
        if names.count(name) > 1:
            raise UserError(f"config.evaluate.attributes names {name!r} twice.")


def _with_validation_lengths(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values with the default validation lengths in place of None."""
    train, evaluate = values.get("train"), values.get("evaluate")
    if not isinstance(train, Mapping) or not isinstance(evaluate, Mapping):
        return values
    first, last = train.get("min_length"), train.get("max_length")
    if evaluate.get("validation_lengths", ()) is not None:
        return values
    if not isinstance(first, int) or not isinstance(last, int):
        return values
    lengths = validation_lengths(first, last)
    return {**values, "evaluate": {**evaluate, "validation_lengths": lengths}}


def validation_lengths(min_length: int, max_length: int) -> tuple[int, ...]:
    """Return all trained lengths, or eight of them spread evenly if there are more."""
    distance = max_length - min_length
    last = min(_NUM_VALIDATED - 1, distance)
    return tuple(min_length + i * distance // max(last, 1) for i in range(last + 1))


def _fields(cls: type, values: Any, path: str) -> dict[str, Any]:
    """Return the fields of a dataclass from a mapping, with keys and types checked."""
    hints = {name: hint for name, hint in get_type_hints(cls).items() if name not in _DERIVED}
    if not isinstance(values, Mapping):
        raise UserError(f"{path} must hold {', '.join(hints)}, got {values!r}.")
    for key in values:
        if key not in hints:
            raise unknown(path, str(key), hints)
    missing = sorted(hints.keys() - values.keys())
    if missing:
        group = path.removeprefix("config")
        advice = f" Change single keys with c{group}.update(...)." if group else ""
        raise UserError(
            f"{path}.{missing[0]} is missing: configs/base.py states every key.{advice}"
        )
    return {key: _value(hint, values[key], f"{path}.{key}") for key, hint in hints.items()}


def _value(hint: Any, value: Any, path: str) -> Any:
    """Return one checked value of a config."""
    if hint is Plugin:
        return plugins.resolve(_FAMILIES[path], value)
    if path == "config.model.encodings":
        return encodings(value)
    if path == "config.evaluate.overrides":
        if not isinstance(value, list | tuple):
            raise UserError(f"{path} is a tuple of {_EXAMPLE_OVERRIDE}, got {value!r}.")
        return ()  # from_dict resolves them against the run
    if path == "config.init_from":
        return None if value is None else InitFrom(**_fields(InitFrom, value, path))
    if dataclasses.is_dataclass(hint):
        return hint(**_fields(hint, value, path))  # type: ignore[arg-type, operator]
    return typed_values.checked(value, hint, path)


def override(spec: Any, run: Run) -> Override:
    """Return an evaluation override of a run.

    Args:
      spec: dict(positions=dict(name=...), encodings=(dict(name=...), ...), task=dict(argument=...),
        num_loops=..., logit_temperature=...), of which all but one may be left out. The task, and
        an encoding or scheme that the run has too, keep the arguments that the spec leaves open.

    Raises:
      UserError: it overrides nothing, or a name in it is wrong.
    """
    parts = {}
    if isinstance(spec, Mapping):
        for key in spec:
            # A record holds `evaluated_task`, which follows from the task.
            if key not in ("label", "axes", "evaluated_task", *_OVERRIDABLE):
                raise unknown("An evaluation override", str(key), _OVERRIDABLE)
        parts = {name: spec[name] for name in _OVERRIDABLE if spec.get(name) is not None}
    if not parts:
        raise UserError(f"An evaluation override is given as {_EXAMPLE_OVERRIDE}, got {spec!r}.")
    positions, replaced = parts.get("positions"), parts.get("encodings")
    if positions is not None:
        completed = _completed(positions, [run.positions.to_dict()])
        positions = plugins.resolve("positions", completed)
    if replaced is not None:
        replaced = encodings(replaced, [e.settings() for e in run.model.encodings])
    task = exact_task = None
    if "task" in parts:
        task = _overridden_task(parts["task"], run)
        exact_task = evaluated_task(task, run.evaluate.exact_operands)
    axes = spec.get("axes", ())
    if isinstance(axes, Mapping):  # as a config has them; a record has pairs
        axes = axes.items()
    result = Override(
        label=spec.get("label") or _override_label(parts),
        positions=positions,
        encodings=replaced,
        task=task,
        evaluated_task=exact_task,
        num_loops=_checked_setting(Model, "num_loops", parts),
        logit_temperature=_checked_setting(Model, "logit_temperature", parts),
        axes=tuple((str(axis), str(text)) for axis, text in axes),
    )
    check_override(result, run)
    return result


def _override_label(parts: JsonObject) -> str:
    """Return the label of an override: rope at shifted, operands=3."""
    plugin_labels = [label(parts[key]) for key in ("encodings", "positions") if key in parts]
    settings = dict(parts.get("task", {}))
    settings |= {k: v for k, v in parts.items() if k in ("num_loops", "logit_temperature")}
    words = [" at ".join(plugin_labels)] if plugin_labels else []
    words += [f"{k}={argument_label(v)}" for k, v in settings.items() if k != "name"]
    return ", ".join(words)


def _overridden_task(spec: Any, run: Run) -> Plugin:
    """Return the run's task with other arguments.

    Raises:
      UserError: it is another task, or the arguments change the vocabulary.
    """
    name = run.task.name
    if not isinstance(spec, Mapping):
        raise UserError(
            f"An evaluation override's task is given as dict(argument=...), got {spec!r}."
        )
    if spec.get("name", name) != name:
        raise UserError(
            f"An evaluation override gives the task {name} other arguments, and cannot put "
            f"{spec['name']} in its place."
        )
    task = plugins.resolve("tasks", {**run.task.to_dict(), **spec})
    trained_task = plugins.build("tasks", run.task)
    changed_task = plugins.build("tasks", task)
    for vocabulary in ("vocabulary", "target_vocabulary"):
        if getattr(changed_task, vocabulary) != getattr(trained_task, vocabulary):
            raise UserError(
                f"An evaluation override keeps the vocabulary that the model was trained with, and "
                f"{_override_label({'task': spec})} changes the symbols of {name}."
            )
    return task


def _checked_setting(group: type, name: str, values: JsonObject) -> Any:
    """Return the checked value of a group's setting in an override; None if it is left out."""
    if name not in values:
        return None
    hint = get_type_hints(group)[name]
    return typed_values.checked(values[name], hint, f"An evaluation override's {name}")


def _completed(spec: Any, trained: list[JsonObject]) -> Any:
    """Return a spec with its open arguments taken from the trained one of the same name.

    The trained one is removed from the list, so that it completes one spec only.
    """
    for settings in trained:
        if isinstance(spec, Mapping) and settings["name"] == spec.get("name"):
            trained.remove(settings)
            return {**settings, **spec}
    return spec


def encodings(specs: Any, trained: Sequence[JsonObject] = ()) -> tuple[Encoding, ...]:
    """Return the checked encodings of a model.

    Args:
      specs: a tuple of dict(name=..., ...).
      trained: settings that complete specs of the same name.
    """
    if not isinstance(specs, list | tuple):
        raise UserError(f"Encodings are a tuple of dict(name=...), got {specs!r}.")
    unused = list(trained)
    return tuple(_encoding(_completed(spec, unused)) for spec in specs)


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
