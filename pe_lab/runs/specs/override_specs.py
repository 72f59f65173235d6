"""Specs of evaluation overrides: replacements of parts of a run when it is evaluated."""

from collections.abc import Mapping
from typing import Any

from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records.record_schema import JsonObject
from pe_lab.runs.run import Run
from pe_lab.runs.settings.declarations import check_keys, read
from pe_lab.runs.settings.evaluation_settings import Override
from pe_lab.runs.settings.labels import argument_label, label
from pe_lab.runs.settings.plugin import Plugin
from pe_lab.runs.settings.settings import Model
from pe_lab.runs.specs import plugin_specs
from pe_lab.runs.specs.checks import check_override

# The keys of an evaluation override, in the order of its label.
_OF_MODEL = ("num_loops", "logit_temperature")
_OVERRIDABLE = ("encodings", "positions", "task", *_OF_MODEL)
_OF_RECORDS = ("label", "axes", "evaluated_task", "is_complete")
EXAMPLE = "dict(positions=..., encodings=..., task=..., num_loops=...)"


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
        # A record holds `evaluated_task`, which follows from the task, and the marks of a record.
        names = [key for key in spec if key not in _OF_RECORDS]
        check_keys("An evaluation override", names, _OVERRIDABLE)
        parts = {name: spec[name] for name in _OVERRIDABLE if spec.get(name) is not None}
    if not parts:
        raise UserError(f"An evaluation override is given as {EXAMPLE}, got {spec!r}.")
    named = parts
    if not spec.get("is_complete"):  # a config names only the parts that it changes
        parts = _completed_parts(parts, run)
    positions, replaced = parts.get("positions"), parts.get("encodings")
    if positions is not None:
        positions = plugins.resolve("positions", positions)
    if replaced is not None:
        replaced = plugin_specs.encodings(replaced)
    task = exact_task = None
    if "task" in parts:
        task = _overridden_task(parts["task"], run)
        _check_vocabulary(task, run, named["task"])
        exact_task = plugin_specs.evaluated_task(task, run.evaluate.exact_operands)
    settings = {key: parts[key] for key in _OF_MODEL if key in parts}
    settings = read(Model, settings, "An evaluation override's {}".format)
    axes = spec.get("axes", ())
    if isinstance(axes, Mapping):  # as a config has them; a record has pairs
        axes = axes.items()
    result = Override(
        label=spec.get("label") or _override_label(named),
        positions=positions,
        encodings=replaced,
        task=task,
        evaluated_task=exact_task,
        **settings,
        axes=tuple((str(axis), str(text)) for axis, text in axes),
    )
    check_override(result, run)
    return result


def _override_label(parts: JsonObject) -> str:
    """Return the label of an override: rope at shifted, operands=3."""
    plugin_labels = [label(parts[key]) for key in ("encodings", "positions") if key in parts]
    settings = dict(parts.get("task", {}))
    settings |= {k: v for k, v in parts.items() if k in _OF_MODEL}
    words = [" at ".join(plugin_labels)] if plugin_labels else []
    words += [f"{k}={argument_label(v)}" for k, v in settings.items() if k != "name"]
    return ", ".join(words)


def _overridden_task(spec: object, run: Run) -> Plugin:
    """Return the run's task with other arguments.

    Raises:
      UserError: it is another task, or an argument is wrong.
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
    return plugins.resolve("tasks", {"name": name, **spec})


def _check_vocabulary(task: Plugin, run: Run, spec: JsonObject) -> None:
    """Refuse a task whose arguments change the symbols that the model was trained with."""
    trained_task = plugins.build("tasks", run.task)
    changed_task = plugins.build("tasks", task)
    for vocabulary in ("vocabulary", "target_vocabulary"):
        if getattr(changed_task, vocabulary) != getattr(trained_task, vocabulary):
            raise UserError(
                f"An evaluation override keeps the vocabulary that the model was trained with, and "
                f"{_override_label({'task': spec})} changes the symbols of {task.name}."
            )


def _completed_parts(parts: JsonObject, run: Run) -> dict[str, object]:
    """Return the parts of an override with the trained arguments that they leave open."""
    completed = dict(parts)
    trained = [e.settings() for e in run.model.encodings]
    if isinstance(parts.get("encodings"), list | tuple):
        completed["encodings"] = [_completed(spec, trained) for spec in parts["encodings"]]
    if "positions" in parts:
        completed["positions"] = _completed(parts["positions"], [run.positions.to_dict()])
    if isinstance(parts.get("task"), Mapping):
        completed["task"] = {**run.task.to_dict(), **parts["task"]}
    return completed


def _completed(spec: object, trained: list[dict[str, object]]) -> object:
    """Return a spec with its open arguments taken from the trained one of the same name.

    The trained one is removed from the list, so that it completes one spec only.
    """
    for settings in trained:
        if isinstance(spec, Mapping) and settings["name"] == spec.get("name"):
            trained.remove(settings)
            return {**settings, **spec}
    return spec
