"""Lookups of docs/tasks.md: docstrings, arguments and measured chance levels of all tasks."""

import dataclasses
import inspect
import json
import re
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from docs.build import catalog, commits, corpora, markdown
from pe_lab.runs import plugin_specs, plugins
from pe_lab.runs.errors import UserError
from pe_lab.studies import base
from pe_lab.tasks.base import Task
from pe_lab.tasks.chance_levels import chance_levels

RECORD = Path("results/published/chance_levels/chance_levels.json")
NUM_EXAMPLES = 2000
# Chance levels are measured at these lengths, or at the nearest length that the task has.
LENGTHS = (10, 40, 100, 500)
_MOST_TOKENS = 4000  # no chance level for longer examples, such as a grid of 500 x 500
_LENGTH_OF_TABLE = 40  # the table of all tasks shows the chance level at the nearest length


def measure(name: str, num_examples: int) -> dict[str, Any]:
    """Measure the chance levels of a task as a test draws it by default, as JSON.

    Returns:
      task: all its arguments; chance_levels: one entry for each length; reason: why there are none.
    """
    try:
        task, plugin = tested(name)
    except UserError as error:  # for example, a task without a default text
        return {"task": None, "chance_levels": [], "reason": str(error)}
    arguments = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in plugin.to_dict().items()
    }
    if task.is_text:
        reason = "text is scored by the likelihood of each place"
        return {"task": arguments, "chance_levels": [], "reason": reason}
    data = jax.tree.map(jnp.asarray, task.data("test"))
    levels = chance_levels(task, lengths_of(task), num_examples, data)
    return {"task": arguments, "chance_levels": levels, "reason": None}


def built(name: str) -> tuple[Task, plugins.Plugin]:
    """Build a task with its default arguments.

    Raises:
      UserError: an argument has no default.
    """
    plugin = plugins.resolve("tasks", {"name": name})
    return plugins.build("tasks", plugin), plugin


def tested(name: str) -> tuple[Task, plugins.Plugin]:
    """Build a task with its default arguments as a test draws it: operands have exact lengths.

    Raises:
      UserError: an argument has no default.
    """
    _, plugin = built(name)
    exact_operands = base.get_config().evaluate.exact_operands
    plugin = plugin_specs.evaluated_task(plugin, exact_operands)
    return plugins.build("tasks", plugin), plugin


def lengths_of(task: Task) -> list[int]:
    """Return the lengths at which chance levels are measured."""
    longest = max(LENGTHS) if task.max_length is None else task.max_length
    candidates = sorted({max(task.min_length, min(length, longest)) for length in LENGTHS})
    lengths = candidates[:1]
    for length in candidates[1:]:
        if task.prompt_bound(length) + task.target_bound(length) <= _MOST_TOKENS:
            lengths.append(length)
    return lengths


def lookups(root: Path) -> dict[str, str]:
    """Lookups of the page, from the classes and the record below `root`."""
    record: dict[str, Any] = {"tasks": {}, "num_examples": NUM_EXAMPLES}
    if (root / RECORD).exists():
        record = json.loads((root / RECORD).read_text(encoding="utf-8"))
    names, length_names = plugins.names("tasks"), plugins.names("training.lengths")
    # A task without a committed measurement is shown without chance levels.
    levels = {name: record["tasks"].get(name, {}).get("chance_levels", []) for name in names}
    lengths_header = ["name", "lengths", "arguments", "source"]
    header = [
        "task",
        "description",
        "lengths (defaults)",
        "chance level: tokens / exact, at length",
    ]
    rows = [_row(name, levels[name]) for name in names]
    sections = [_section(name, levels[name]) for name in names]
    return {
        "num_examples": f"{record['num_examples']:,}",
        "commit": commits.marked(record["provenance"]["commit"]) if record["tasks"] else "–",
        "table": markdown.table([header, *rows]),
        "training_lengths": markdown.table([lengths_header, *map(_lengths_row, length_names)]),
        "sections": "\n".join(sections),
        "corpora": corpora.section(root),
    }


def _row(name: str, levels: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a task's row of the table of all tasks."""
    chance = "–"
    if levels:
        level = min(levels, key=lambda level: abs(level["length"] - _LENGTH_OF_TABLE))
        scores = f"{_number(level['token_accuracy'])} / {_number(level['exact_match'])}"
        chance = f"{scores}, {level['length']}"
    return [f"[{name}](#{name})", _paragraphs(name)[0], _lengths(name), chance]


def _lengths_row(name: str) -> list[str]:
    """Return a row of the table of distributions of training lengths."""
    cls = plugins.find("training.lengths", name)
    description = inspect.cleandoc(vars(cls)["__doc__"]).partition("\n\n")[0]
    cells = [catalog.arguments("training.lengths", cls), catalog.source(cls)]
    return [name, _escaped(" ".join(description.split())), *cells]


def _lengths(name: str) -> str:
    """Return the unit of a task's length, and its lengths with the defaults."""
    unit = _class(name).length_name
    try:
        task, _ = built(name)
    except UserError:
        return unit
    if task.max_length:
        return f"{unit}, {task.min_length} to {task.max_length}"
    return f"{unit}, from {task.min_length}"


def _section(name: str, levels: Sequence[Mapping[str, Any]]) -> str:
    parts = [f"## {name}", *_paragraphs(name), *_class_paragraphs(name), *_arguments(name)]
    attributes = [f"`{key}` ({a.label})" for key, a in _class(name).attributes.items()]
    if attributes:
        parts.append(f"Attributes: {', '.join(attributes)}.")
    if levels:
        lengths = [str(level["length"]) for level in levels]
        token_accuracies = [_number(level["token_accuracy"]) for level in levels]
        exact_matches = [_number(level["exact_match"]) for level in levels]
        rows = [
            [f"chance level, length in {_class(name).length_name}", *lengths],
            ["token accuracy", *token_accuracies],
            ["exact match", *exact_matches],
        ]
        parts.append(markdown.table(rows))
    return "\n\n".join(parts) + "\n"


def _paragraphs(name: str) -> list[str]:
    """Return the paragraphs of the module's docstring, one line each; examples are unchanged."""
    text = inspect.cleandoc(inspect.getmodule(_class(name)).__doc__ or "")
    paragraphs = []
    for block in re.split(r"\n\n+", text):
        if block.startswith("    "):
            paragraphs.append(block)
        else:
            line = _escaped(" ".join(block.split()))
            paragraphs.append(re.sub(r"^(Papers|No paper|Differs):", r"*\1:*", line))
    return paragraphs


def _class_paragraphs(name: str) -> list[str]:
    """Return the paragraphs of the class's own docstring before its arguments."""
    docstring = inspect.cleandoc(vars(_class(name)).get("__doc__") or "")
    description = docstring.partition("Args:\n")[0].strip()
    return [_escaped(" ".join(part.split())) for part in description.split("\n\n") if part]


def _arguments(name: str) -> list[str]:
    """Return the list of arguments as one paragraph; nothing if there are none."""
    cls = _class(name)
    descriptions = _descriptions(cls)
    hints = typing.get_type_hints(cls)
    lines = []
    for field in dataclasses.fields(cls):
        hint = hints[field.name]
        default = ""
        if field.default is not dataclasses.MISSING:
            default = f"={field.default!r}".replace("'", '"')
        choices = ""
        if typing.get_origin(hint) is typing.Literal:
            choices = f" ({', '.join(map(str, typing.get_args(hint)))})"
        condition = "if True, " if hint is bool else ""
        description = descriptions[field.name]
        lines.append(f"- `{field.name}{default}`{choices}: {condition}{description}")
    return ["\n".join(lines)] if lines else []


def _descriptions(cls: type) -> dict[str, str]:
    """Map each argument to its description in the docstrings of the class and its bases."""
    descriptions: dict[str, str] = {}
    for owner in cls.__mro__:
        docstring = inspect.cleandoc(owner.__doc__ or "")
        section = re.search(r"^Args:\n((?:  .*(?:\n|$)|\n)*)", docstring, re.MULTILINE)
        if section is None:
            continue
        arguments = re.findall(r"^  (\w+): (.*(?:\n    .*)*)", section[1], re.MULTILINE)
        for argument, text in arguments:
            descriptions.setdefault(argument, _escaped(" ".join(text.split())))
    return descriptions


def _escaped(text: str) -> str:
    """Escape Markdown characters outside of `backticks`."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):  # the odd parts are in backticks
        parts[i] = re.sub(r"([*$<\[\]])", r"\\\1", parts[i])
    return "".join(parts)


def _class(name: str) -> Any:
    return plugins.find("tasks", name)


def _number(value: float) -> str:
    """Return two decimals, or three where two would show 0 or 1 for another number."""
    if value in (0, 1) or 0.005 <= value < 0.995:
        return f"{value:.2f}"
    return f"{min(max(value, 0.001), 0.999):.3f}"
