"""One page for each family of tasks and one for position schemes, a section for each member."""

import json
from pathlib import Path
from typing import Any

from docs.build import catalog, markdown, tasks
from pe_lab.runs.plugins import plugins


def family_of() -> dict[str, str]:
    """Map each task to the name of its family's page."""
    by_family = tasks.families(plugins.names("tasks"))
    return {name: page(family) for family, names in by_family.items() for name in names}


def page(family: str) -> str:
    """Return the name of a family's page."""
    return family.lower().replace(" ", "_")


def schemes() -> str:
    """Return the page of all position schemes."""
    sections = ["# Position schemes", "A scheme gives each token its position."]
    for name in plugins.names("positions"):
        cls: Any = plugins.find("positions", name)
        sections.append(f"## {name}\n\n{description(cls)}")
        sections.append(
            f"[Source](source:{catalog.path('positions', name)})\n\n{class_reference(cls)}"
        )
    return "\n\n".join(sections) + "\n"


def description(cls: type) -> str:
    """Return the docstring of a class's file, which Sphinx inserts."""
    return f"```{{eval-rst}}\n.. automodule:: {cls.__module__}\n   :no-members:\n```"


def class_reference(cls: type) -> str:
    """Return the signature and the docstring of a class, which Sphinx inserts."""
    return f"```{{eval-rst}}\n.. autoclass:: {cls.__module__}.{cls.__name__}\n```"


def pages(root: Path) -> dict[str, str]:
    """Return the pages, by their names in the site."""
    record = json.loads((root / tasks.RECORD).read_text(encoding="utf-8"))
    texts = {"positions": schemes()}
    for family, names in tasks.families(plugins.names("tasks")).items():
        sections = [_section(name, record["tasks"].get(name, {})) for name in names]
        texts[f"tasks/{page(family)}"] = "\n\n".join([f"# {family}", *sections]) + "\n"
    return texts


def _section(name: str, measured: Any) -> str:
    cls: Any = plugins.find("tasks", name)
    file = catalog.path("tasks", name)
    parts = [
        f"## {name}",
        description(cls),
        f"[Source](source:{file}). Lengths: {tasks.lengths_with_unit(name)}.",
        class_reference(cls),
    ]
    attributes = [f"`{key}` ({a.label})" for key, a in cls.attributes.items()]
    if attributes:
        parts.append(f"Attributes of examples: {', '.join(attributes)}.")
    levels = measured.get("chance_levels", [])
    if levels:
        rows = [
            [f"chance level, length in {cls.length_name}", *(str(v["length"]) for v in levels)],
            ["token accuracy", *(tasks.number(level["token_accuracy"]) for level in levels)],
            ["exact match", *(tasks.number(level["exact_match"]) for level in levels)],
        ]
        parts.append(markdown.table(rows))
    return "\n\n".join(parts)
