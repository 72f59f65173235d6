"""Lookups of docs/tasks.md: docstrings, arguments and measured chance levels of all tasks."""

import inspect
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from docs.build import catalog, corpora, markdown
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.specs import plugin_specs
from pe_lab.studies import base
from pe_lab.tasks.base import Task
from pe_lab.tasks.chance_levels import chance_levels

RECORD = Path("results/published/chance_levels/chance_levels.json")
NUM_EXAMPLES = 2000
# Chance levels are measured at these lengths, or at the nearest length that the task has.
LENGTHS = (10, 40, 100, 500)
_MOST_TOKENS = 4000  # no chance level for longer examples, such as a grid of 500 x 500
_LENGTH_OF_TABLE = 40  # tables of families show the chance level at the nearest length
# Families in the order of the pages, with their tasks.
FAMILIES = {
    "Copying": "copy duplicate odds_first repeat replace reverse reverse_twice rotate "
    "selective_copy",
    "Recall": "associative_recall flip_flop in_context_recall indirect_indexing "
    "item_after_separator lego missing_duplicate multi_hop needle ngram path_star phone_book",
    "Counting": "count cycle_navigation even_pairs majority modular_sum parity",
    "State tracking": "alternating_blocks word_problem",
    "Sorting": "bucket_sort keyed_sort sort",
    "Arithmetic": "addition binary_addition binary_multiplication bitwise_or compute_sqrt "
    "modular_arithmetic modular_arithmetic_brackets multiplication polynomial solve_equation "
    "subtraction",
    "Formal languages": "dyck regular stack_manipulation",
    "Grids": "add_above copy_grid copy_page minesweeper",
    "Text": "aligned_text language_model scan",
    "Mixtures": "mixture",
}
OTHER = "Others"  # tasks that have no family yet


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
    header = ["task", "description", "lengths", "chance level: tokens / exact, at length"]
    sections = []
    for family, members in families(names).items():
        rows = [_row(name, levels[name]) for name in members]
        sections.append(f"### {family}\n\n{markdown.table([header, *rows])}")
    return {
        "num_examples": f"{record['num_examples']:,}",
        "commit": record["provenance"]["commit"][:7] if record["tasks"] else "–",
        "tables": "\n\n".join(sections),
        "training_lengths": markdown.table([lengths_header, *map(_lengths_row, length_names)]),
        "corpora": corpora.section(root),
    }


def families(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the tasks of each family. A task without a family is in the last one."""
    members = {}
    for family, listed in FAMILIES.items():
        members[family] = [name for name in listed.split() if name in names]
    known = {name for of_family in members.values() for name in of_family}
    members[OTHER] = [name for name in names if name not in known]
    return {family: of_family for family, of_family in members.items() if of_family}


def _row(name: str, levels: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return a task's row of the table of its family."""
    chance = "–"
    if levels:
        level = min(levels, key=lambda level: abs(level["length"] - _LENGTH_OF_TABLE))
        scores = f"{number(level['token_accuracy'])} / {number(level['exact_match'])}"
        chance = f"{scores}, {level['length']}"
    link = f"[{name}](../{catalog.path('tasks', name)})"
    return [link, _escaped(_summary(plugins.find("tasks", name))), lengths_with_unit(name), chance]


def _summary(cls: type) -> str:
    """Return the first paragraph of the docstring of a class's file, as one line."""
    return " ".join(catalog.docstring(cls).partition("\n\n")[0].split())


def _lengths_row(name: str) -> list[str]:
    """Return a row of the table of distributions of training lengths."""
    cls = plugins.find("training.lengths", name)
    description = inspect.cleandoc(vars(cls)["__doc__"]).partition("\n\n")[0]
    cells = [catalog.arguments("training.lengths", cls), catalog.source(cls)]
    return [name, _escaped(" ".join(description.split())), *cells]


def lengths_with_unit(name: str) -> str:
    """Return the unit of a task's length, and its lengths with the defaults."""
    cls: Any = plugins.find("tasks", name)
    unit = str(cls.length_name)
    try:
        task, _ = built(name)
    except UserError:
        return unit
    if task.max_length:
        return f"{unit}, {task.min_length} to {task.max_length}"
    return f"{unit}, from {task.min_length}"


def _escaped(text: str) -> str:
    """Escape Markdown characters outside of `backticks`."""
    pieces = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(pieces), 2):  # the odd pieces are in backticks
        pieces[i] = re.sub(r"([*$<\[\]])", r"\\\1", pieces[i])
    return "".join(pieces)


def number(value: float) -> str:
    """Return two decimals, or three where two would show 0 or 1 for another number."""
    if value in (0, 1) or 0.005 <= value < 0.995:
        return f"{value:.2f}"
    return f"{min(max(value, 0.001), 0.999):.3f}"
