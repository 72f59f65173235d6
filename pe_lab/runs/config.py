"""The only reader of a user's config: from the values of a ConfigDict to a checked `Run`.

settings.py declares every setting once. A config must hold them all: pe_lab/studies/base.py gives
their defaults. The arguments of plugins have their defaults in their classes, next to their
citation. They are resolved into the run, so a record is complete.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_type_hints

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.run import DERIVED, InitFrom, Run
from pe_lab.runs.settings import declarations
from pe_lab.runs.settings.plugin import Plugin
from pe_lab.runs.specs import override_specs, plugin_specs
from pe_lab.runs.specs.checks import check

_NUM_VALIDATED = 8  # validation lengths by default


def from_dict(values: JsonObject) -> Run:
    """Return a checked run.

    Args:
      values: of a config (ConfigDict.to_dict()) or of a record's "config".

    Raises:
      UserError: an unknown or missing key, argument, encoding, scheme or task; a value of the wrong
        type or out of range.
    """
    # The launcher of a run's process is no setting of the run.
    values = {k: v for k, v in values.items() if k not in DERIVED and k != "launcher"}
    if values.get("data_seed") is None:
        values["data_seed"] = values.get("seed")
    values = _with_validation_lengths(values)
    settings = _group(Run, values, "config")
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
    seeds = {"seed": seed, "data_seed": seed if data_seed is None else data_seed}
    return dataclasses.replace(run, **declarations.read(Run, seeds, "config.{}".format))


def _check_attributes(task: Plugin, names: Sequence[str]) -> None:
    cls: Any = plugins.find("tasks", task.name)
    owner = f"config.evaluate.attributes: the task {task.name}"
    declarations.check_keys(owner, names, cls.attributes)
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"config.evaluate.attributes names {name!r} twice.")


def _with_validation_lengths(values: dict[str, object]) -> dict[str, Any]:
    """Return the values with the default validation lengths in place of None."""
    train, evaluate = values.get("train"), values.get("evaluate")
    if not isinstance(train, Mapping) or not isinstance(evaluate, Mapping):
        return values
    first, last = train.get("min_length"), train.get("max_length")
    # A key that is missing is reported later, by the reader of its group.
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
    # Both ends are among them; `//` keeps them whole.
    return tuple(min_length + i * distance // max(last, 1) for i in range(last + 1))


def _group(cls: type, values: object, path: str) -> dict[str, Any]:
    """Return the fields of a dataclass from a mapping that holds them all, checked."""
    hints = {name: hint for name, hint in get_type_hints(cls).items() if name not in DERIVED}
    if not isinstance(values, Mapping):
        raise UserError(f"{path} must hold {', '.join(hints)}, got {values!r}.")
    declarations.check_keys(path, values, hints)
    missing = sorted(hints.keys() - values.keys())
    if missing:
        group = path.removeprefix("config")
        advice = f" Change single keys with c{group}.update(...)." if group else ""
        raise UserError(
            f"{path}.{missing[0]} is missing: pe_lab/runs/settings/settings.py states every key."
            f"{advice}"
        )
    readers = dict(_READERS)
    for name, hint in hints.items():
        inner = f"{path}.{name}"
        if dataclasses.is_dataclass(hint) and inner not in readers:
            readers[inner] = functools.partial(_inner_group, hint, path=inner)
    return declarations.read(cls, values, f"{path}.{{}}".format, readers)


def _inner_group(cls: Any, values: object, path: str) -> object:
    return cls(**_group(cls, values, path))


def _init_from(values: object) -> InitFrom | None:
    if values is None:
        return None
    if isinstance(values, Mapping):  # older records do not have it
        values = {"keep": "parameters", **values}
    return InitFrom(**_group(InitFrom, values, "config.init_from"))


def _overrides(specs: object) -> tuple[()]:
    """Check that they are a sequence. `from_dict` resolves them against the run."""
    if not isinstance(specs, list | tuple):
        raise UserError(
            f"config.evaluate.overrides is a tuple of {override_specs.EXAMPLE}, got {specs!r}."
        )
    return ()


# Readers of the settings that are more than plain values, by path.
_READERS: dict[str, Callable[[object], object]] = {
    "config.task": functools.partial(plugins.resolve, "tasks"),
    "config.positions": functools.partial(plugins.resolve, "positions"),
    "config.train.lengths": functools.partial(plugins.resolve, "training.lengths"),
    "config.train.optimizer": functools.partial(plugins.resolve, "training.optimizers"),
    "config.model.encodings": plugin_specs.encodings,
    "config.evaluate.overrides": _overrides,
    "config.init_from": _init_from,
}
