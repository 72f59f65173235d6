"""The only reader of a user's config: from the values of a ConfigDict to a checked `Run`.

pe_lab/studies/base.py states every setting once, so nothing has a default here. The arguments of
plugins have their defaults in their classes, next to their citation. They are resolved into the
run, so a record is complete.
"""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from pe_lab.runs import override_specs, plugin_specs, plugins, typed_values
from pe_lab.runs.checks import check, check_seeds
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.plugins import Plugin
from pe_lab.runs.record_schema import JsonObject
from pe_lab.runs.run import Run
from pe_lab.runs.settings import InitFrom

_NUM_VALIDATED = 8  # validation lengths by default
# The family of each plugin, by its place in a config.
_FAMILIES = {
    "config.task": "tasks",
    "config.positions": "positions",
    "config.train.lengths": "training.lengths",
}
_DERIVED = {"evaluated_task"}  # fields of a run that no config holds


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
    run = Run(**settings, evaluated_task=plugin_specs.evaluated_task(task, evaluate.exact_operands))
    overrides = [override_specs.override(spec, run) for spec in values["evaluate"]["overrides"]]
    evaluate = dataclasses.replace(evaluate, overrides=tuple(overrides))
    run = dataclasses.replace(run, evaluate=evaluate)
    check(run)
    return run


def with_seeds(run: Run, seed: object, data_seed: object) -> Run:
    """Return a checked run with other seeds, whose other settings are not read again.

    Args:
      data_seed: None: the seed.
    """
    run = dataclasses.replace(
        run,
        seed=typed_values.checked(seed, int, "config.seed"),
        data_seed=typed_values.checked(
            seed if data_seed is None else data_seed, int, "config.data_seed"
        ),
    )
    check_seeds(run)
    return run


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
            f"{path}.{missing[0]} is missing: pe_lab/studies/base.py states every key.{advice}"
        )
    return {key: _value(hint, values[key], f"{path}.{key}") for key, hint in hints.items()}


def _value(hint: Any, value: Any, path: str) -> Any:
    """Return one checked value of a config."""
    if hint is Plugin:
        return plugins.resolve(_FAMILIES[path], value)
    if path == "config.model.encodings":
        return plugin_specs.encodings(value)
    if path == "config.evaluate.overrides":
        if not isinstance(value, list | tuple):
            raise UserError(f"{path} is a tuple of {override_specs.EXAMPLE}, got {value!r}.")
        return ()  # from_dict resolves them against the run
    if path == "config.init_from":
        return None if value is None else InitFrom(**_fields(InitFrom, value, path))
    if dataclasses.is_dataclass(hint):
        return hint(**_fields(hint, value, path))  # type: ignore[arg-type, operator]
    return typed_values.checked(value, hint, path)
