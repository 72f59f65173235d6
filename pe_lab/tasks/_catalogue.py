"""The page of all tasks, docs/tasks.md: their docstrings, arguments, and floors as they were measured."""

import dataclasses
import inspect
import re
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from pe_lab.runs import plugins
from pe_lab.runs.errors import UserError
from pe_lab.tasks.base import Task, floors

LENGTHS = (10, 40, 100, 500)  # of floors, those that a task has; the nearest where it ends before
_TOKENS = 4000  # longer examples have no floors: a grid of 500 x 500
_HEAD = """# Every task

Written by `python -m experiments.document` from the files of [pe_lab/tasks](../pe_lab/tasks); `dict(name="copy", num_symbols=32)`
in a config is the task below with that argument. Every task can be asked of every layout: the decoder reads BEGIN prompt SEPARATOR
target END in one stream. In the examples what a target is given, whatever the model says, stands in [square brackets].

In evaluation an example of length n has exactly length n, unless the task calls the length an upper bound.

*Floor*: what is reached with the default arguments by an answer that knows the length alone: the most frequent symbol of each
place (token accuracy), the most frequent whole target (exact match), each from {count} examples and scored on {count} others. An
accuracy says something about a model by its distance from there: (accuracy − floor) / (1 − floor).
"""


def measure(name: str, num_examples: int) -> dict[str, Any]:
    """The floors of a task with its defaults, as JSON.

    Returns:
      task: all its arguments; floors, one for each length, or none with the reason.
    """
    try:
        task, plugin = built(name)
    except UserError as e:  # it needs a text, say
        return {"task": None, "floors": [], "reason": str(e)}
    spec = {k: list(v) if isinstance(v, tuple) else v for k, v in plugin.to_dict().items()}
    if task.by_place:
        return {
            "task": spec,
            "floors": [],
            "reason": "text is scored by the likelihood of each place",
        }
    data = jax.tree.map(jnp.asarray, task.data("test"))
    return {
        "task": spec,
        "floors": floors(task, lengths_of(task), num_examples, data),
        "reason": None,
    }


def built(name: str) -> tuple[Task, plugins.Plugin]:
    """A task with its defaults.

    Raises:
      UserError: it has arguments without one.
    """
    plugin = plugins.resolve("tasks", {"name": name})
    return plugins.build("tasks", plugin), plugin


def lengths_of(task: Task) -> list[int]:
    """The lengths that floors are measured at."""
    longest = max(LENGTHS) if task.max_length is None else task.max_length
    found = {max(task.min_length, min(n, longest)) for n in LENGTHS}
    return sorted(
        n
        for n in found
        if task.prompt_bound(n) + task.target_bound(n) <= _TOKENS or n == min(found)
    )


def page(names: Sequence[str], measured: Mapping[str, Any], num_examples: int) -> str:
    """The whole page.

    Args:
      measured: task -> what `measure` said; a task may be missing.
    """
    rows = [
        "| task | what it asks | lengths, with the defaults | floor: tokens / whole, at length |",
        "|---|---|---|---|",
    ]
    rows += [_line(name, _floors(measured, name)) for name in names]
    sections = [_section(name, _floors(measured, name)) for name in names]
    return "\n".join([_HEAD.format(count=f"{num_examples:,}"), *rows, "", *sections])


def _floors(measured: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    return measured[name]["floors"] if name in measured else []


def _line(name: str, found: Sequence[Mapping[str, Any]]) -> str:
    """A task in the table: with the floor at the length nearest to 40."""
    floor = "–"
    if found:
        f = min(found, key=lambda f: abs(f["length"] - 40))
        floor = f"{_number(f['token_accuracy'])} / {_number(f['exact_match'])}, {f['length']}"
    cells = [f"[{name}](#{name})", _paragraphs(name)[0], _lengths(name), floor]
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _lengths(name: str) -> str:
    """The unit of a length, and which lengths there are with the defaults."""
    unit = _class(name).length_name
    try:
        task, _ = built(name)
    except UserError:
        return unit
    return (
        f"{unit}, {task.min_length} to {task.max_length}"
        if task.max_length
        else f"{unit}, from {task.min_length}"
    )


def _section(name: str, found: Sequence[Mapping[str, Any]]) -> str:
    parts = [f"## {name}", *_paragraphs(name), *_target(name), *_arguments(name)]
    if found:
        columns = [
            [str(f["length"]), _number(f["token_accuracy"]), _number(f["exact_match"])]
            for f in found
        ]
        heads = (f"floor, length in {_class(name).length_name}", "token accuracy", "exact match")
        table = [[head, *(column[i] for column in columns)] for i, head in enumerate(heads)]
        lines = [f"| {' | '.join(row)} |" for row in table]
        parts.append("\n".join([lines[0], "|" + "---|" * len(table[0]), *lines[1:]]))
    return "\n\n".join(parts) + "\n"


def _paragraphs(name: str) -> list[str]:
    """Of the module's docstring, each in one line; worked examples as they are."""
    text = inspect.cleandoc(inspect.getmodule(_class(name)).__doc__ or "")
    found = []
    for block in re.split(r"\n\n+", text):
        if block.startswith("    "):
            found.append(block)
        else:
            line = re.sub(
                r"^(Papers|No paper|Differs):", r"*\1:*", _escaped(" ".join(block.split()))
            )
            found.append(line)
    return found


def _target(name: str) -> list[str]:
    """What the class says before its arguments, if it has a docstring of its own."""
    about = (
        inspect.cleandoc(vars(_class(name)).get("__doc__") or "").partition("Args:\n")[0].strip()
    )
    return [_escaped(" ".join(part.split())) for part in about.split("\n\n") if part]


def _arguments(name: str) -> list[str]:
    cls, about = _class(name), _described(_class(name))
    hints = typing.get_type_hints(cls)
    lines = []
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        default = (
            "" if field.default is dataclasses.MISSING else f"={field.default!r}".replace("'", '"')
        )
        options = (
            typing.get_args(hints[field.name])
            if typing.get_origin(hints[field.name]) is typing.Literal
            else ()
        )
        among = f" ({', '.join(map(str, options))})" if options else ""
        when = "if True, " if hints[field.name] is bool else ""
        lines.append(f"- `{field.name}{default}`{among}: {when}{about[field.name]}")
    return ["\n".join(lines)] if lines else []


def _described(cls: type) -> dict[str, str]:
    """Argument -> what the docstrings of the class and its parents say of it."""
    found: dict[str, str] = {}
    for owner in cls.__mro__:
        section = re.search(
            r"^Args:\n((?:  .*(?:\n|$)|\n)*)", inspect.cleandoc(owner.__doc__ or ""), re.MULTILINE
        )
        for argument, text in re.findall(
            r"^  (\w+): (.*(?:\n    .*)*)", section[1] if section else "", re.MULTILINE
        ):
            found.setdefault(argument, _escaped(" ".join(text.split())))
    return found


def _escaped(text: str) -> str:
    """Text whose signs Markdown would take for its own; what stands in `backticks` is left alone."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*$<\[\]])", r"\\\1", part) for part in parts
    )


def _class(name: str) -> Any:
    return plugins.find("tasks", name)


def _number(value: float) -> str:
    """Two digits, and three where these would say 0 or 1 of what is neither."""
    return (
        f"{value:.2f}"
        if value in (0, 1) or 0.005 <= value < 0.995
        else f"{min(max(value, 0.001), 0.999):.3f}"
    )
