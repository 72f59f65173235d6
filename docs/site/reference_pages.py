"""Pages of the reference: commands from --help, settings from the base config, the API."""

import ast
import contextlib
import dataclasses
import inspect
import io
import re
import unittest.mock
from typing import Any

from docs.build import markdown
from pe_lab import cli
from pe_lab.studies import base

# Title of a page -> its modules. Every other module is documented in its file alone.
API = {
    "Encodings": ("encodings.base", "encodings.requirements", "encodings.ops"),
    "Position schemes": ("positions.base",),
    "Attention": ("model.attention", "model.terms", "model.streams"),
    "Model": ("model.transformer", "model.block", "model.stack", "model.decode"),
    "Tasks": ("tasks.base", "tasks.layouts", "tasks.attributes"),
    "Metrics": ("metrics.base",),
    "Results": ("results.frame", "results.summary", "results.run_scores"),
    "Inspection": ("inspection.untrained", "inspection.measurements", "inspection.scorecard"),
    "Trained models": ("training.trained_runs", "inspection.trained.loaded_model"),
}


def pages() -> dict[str, str]:
    """Return the pages of the reference, by their names in the site."""
    texts = {
        "reference/commands": _commands(),
        "reference/settings": _settings(),
        "reference/api": "# API\n\n"
        + "\n".join(f"- [{title}](/reference/api/{_name(title)}.md)" for title in API)
        + "\n",
    }
    for title, modules in API.items():
        parts = [f"# {title}"]
        for module in modules:
            lines = [f".. automodule:: pe_lab.{module}", "   :members:"]
            parts.append("\n".join([f"## pe_lab.{module}", "", "```{eval-rst}", *lines, "```"]))
        texts[f"reference/api/{_name(title)}"] = "\n\n".join(parts) + "\n"
    return texts


def _name(title: str) -> str:
    return title.lower().replace(" ", "_")


def _commands() -> str:
    """Return the page of all commands, each with its help."""
    parts = ["# Commands", f"```text\n{_printed('--help')}\n```"]
    for name in cli.names():
        parts.append(f"## pe-lab {name}\n\n```text\n{_printed(name, '--help')}\n```")
    return "\n\n".join(parts) + "\n"


def _printed(*arguments: str) -> str:
    """Return what a command prints."""
    output = io.StringIO()
    with (
        contextlib.redirect_stdout(output),
        contextlib.suppress(SystemExit),
        unittest.mock.patch.dict("os.environ", COLUMNS="80"),
    ):
        cli.run(list(arguments))
    return output.getvalue().rstrip()


def _settings() -> str:
    """Return the page of all settings, a table for each group."""
    sections: dict[str, list[list[str]]] = {}
    for setting in settings():
        cells = [f"`{setting.name}`", f"`{setting.default!r}`", _markdown(setting.comment)]
        sections.setdefault(setting.group, []).append(cells)
    parts = ["# Settings", inspect.cleandoc(base.__doc__ or "")]
    for group, rows in sections.items():
        parts.append(f"## config{'.' if group else ''}{group}")
        parts.append(markdown.table([["setting", "default", "meaning"], *rows]))
    return "\n\n".join(parts) + "\n"


@dataclasses.dataclass(frozen=True)
class Setting:
    """A setting of the base config with its default, and the comment above its line."""

    group: str
    name: str
    default: Any
    comment: str


def settings() -> list[Setting]:
    """Return all settings in the order of the base config."""
    source = inspect.getsource(base)
    lines = source.splitlines()
    functions: dict[str, Any] = {
        node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)
    }
    values = base.get_config().to_dict()
    found = []
    for statement in functions["get_config"].body:
        name = getattr(getattr(statement, "targets", [None])[0], "attr", None)
        if name is None:  # no assignment to an attribute of the config
            continue
        group = functions.get(_called(statement.value))
        if group is None:
            found.append(Setting("", name, values[name], _comment(lines, statement.lineno)))
            continue
        for keyword in _keywords(functions, group):
            default = values[name][keyword.arg]
            found.append(Setting(name, keyword.arg, default, _comment(lines, keyword.lineno)))
    return found


def _called(call: Any) -> str:
    """Return the name of the function of a call, "" for another expression."""
    return str(getattr(getattr(call, "func", None), "id", ""))


def _keywords(functions: dict[str, Any], function: Any) -> list[Any]:
    """Return the keywords of the dict that a function returns, and of those inside it."""
    keywords = []
    for keyword in function.body[-1].value.keywords:
        if keyword.arg is None:  # **_optimizer()
            keywords += _keywords(functions, functions[_called(keyword.value)])
        else:
            keywords.append(keyword)
    return keywords


def _comment(lines: list[str], number: int) -> str:
    """Return the comment above a line, which is counted from 1."""
    comment: list[str] = []
    for line in reversed(lines[: number - 1]):
        if not line.strip().startswith("#"):
            break
        comment.insert(0, line.strip().lstrip("# "))
    return " ".join(comment)


def _markdown(text: str) -> str:
    return re.sub(r"([*_<\[\]])", r"\\\1", text)
