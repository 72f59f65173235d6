"""Pages of the reference: commands from --help, settings from the base config, the API."""

import contextlib
import inspect
import io
import re
import typing
import unittest.mock
from typing import Any, Literal, get_type_hints

from docs.build import markdown
from pe_lab import cli
from pe_lab.runs.settings.declarations import Setting, declared_settings
from pe_lab.studies import base

# Title of a page -> its modules. Every other module is documented in its file alone.
API = {
    "Encodings": (
        *("encodings.base", "encodings.requirements", "encodings.ops"),
        *("contrib.rope.rope_parameters", "runs.plugins.plugins"),
    ),
    "Position schemes": ("positions.base",),
    "Attention": ("model.attention", "model.terms", "model.streams", "kernels"),
    "Model": ("model.transformer", "model.block", "model.stack", "model.decode"),
    "Tasks": ("tasks.base", "tasks.layouts", "tasks.attributes"),
    "Metrics": ("metrics.base",),
    "Studies": ("runs.grid", "runs.studies.analysis_spec"),
    "Results": (
        *("results.frame", "results.study", "results.summary", "results.selection"),
        *("results.standard_tables", "results.formats", "results.latex"),
        *("contrib.prose.numbers", "contrib.grids.run_scores"),
    ),
    "Plots": (
        *("results.plots.lines", "results.plots.intervals"),
        *("results.plots.heat_map", "results.plots.styles", "contrib.grids.setting_dots"),
    ),
    "Inspection": (
        "contrib.inspection.untrained",
        "contrib.inspection.measurements",
        "contrib.inspection.scorecard",
    ),
    "Trained models": (
        "training.trained_runs",
        "contrib.inspection.trained.loaded_model",
    ),
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
    parts = ["# Settings", inspect.cleandoc(base.__doc__ or "")]
    for group, cls in base.groups().items():
        hints = get_type_hints(cls)
        settings = declared_settings(cls)
        if not group:
            settings["launcher"] = base.LAUNCHER
        rows = [["setting", "default", "values", "meaning"]]
        for name, declared in settings.items():
            values = _values(hints.get(name), declared)
            rows.append(
                [f"`{name}`", f"`{declared.default!r}`", values, _markdown(declared.meaning)]
            )
        parts.append(f"## config{'.' if group else ''}{group}")
        parts.append(markdown.table(rows))
    return "\n\n".join(parts) + "\n"


def _values(hint: Any, declared: Setting) -> str:
    """Return the choices or the bounds of a setting; "" if its type says everything."""
    choices = typing.get_args(hint) if typing.get_origin(hint) is Literal else ()
    return ", ".join(f"`{choice}`" for choice in choices) or declared.bounds


def _markdown(text: str) -> str:
    return re.sub(r"([*_<\[\]])", r"\\\1", text)
