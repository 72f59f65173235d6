"""Describes an encoding, scheme, task, metric, config or study.

    pe-lab show rope                 # its docstrings, arguments and defaults
    pe-lab show my_package.mine:Mine --kind=encodings
    pe-lab show quickstart           # a study: its question, runs and axes

A config whose study has no runs here is shown by its docstring.

`pe-lab list KIND` lists the names.
"""

import inspect
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pe_lab import parts
from pe_lab.cli import _catalog, _docstrings, _studies
from pe_lab.cli._arguments import argument, flag
from pe_lab.runs.errors import UserError, unknown
from pe_lab.runs.system import terminal


@dataclass(frozen=True)
class Options:
    """Arguments of `pe-lab show`."""

    name: str = argument("a name of `pe-lab list`, a folder, a config, or package.module:Class")
    kind: str | None = flag("the kind, if several have it", default=None, choices=_catalog.KINDS)


def run(options: Options) -> int:
    kind = options.kind or _kind_of(options.name)
    is_path = _is_file(options.name) or ":" in options.name or kind == "studies"
    if not is_path and options.name not in _catalog.summaries(kind):
        raise unknown(f"The list of {kind}", options.name, _catalog.summaries(kind))
    if kind == "configs":
        file = _studies.config_file(_studies.split(options.name)[0])
        text = _docstrings.docstring(file)
        terminal.show(text or f"{file} has no docstring.", is_docstring=True)
    elif kind == "studies":
        _show_study(options.name)
    elif kind == "metrics":
        _show_metric(options.name)
    else:
        _show_plugin(kind, options.name)
    return 0


def _kind_of(name: str) -> str:
    """Return the kind that has a name.

    Raises:
      UserError: none has it, or several.
    """
    if _is_file(name):
        has_runs = (_studies.folder(name) / "study.json").exists()
        return "studies" if has_runs else "configs"
    if ":" in name:
        raise UserError("Which kind of class? Give --kind=encodings, positions or tasks.")
    if Path(name, "study.json").exists():
        return "studies"
    by_kind = {kind: _catalog.summaries(kind) for kind in _catalog.KINDS}
    kinds = [kind for kind, summaries in by_kind.items() if name in summaries]
    if not kinds:
        names = {member for summaries in by_kind.values() for member in summaries}
        error = str(unknown("pe_lab", name, names))
        listed = "`pe-lab list KIND` lists its names."  # there are more than a hundred
        raise UserError(re.sub(r"It has: .*", listed, error))
    if kinds == ["configs", "studies"]:  # the study of the config
        return "studies"
    if len(kinds) > 1:
        raise UserError(f"{name!r} is one of the {' and of the '.join(kinds)}: give --kind.")
    return kinds[0]


def _is_file(name: str) -> bool:
    """Return whether a name is the file of a config, with or without a form."""
    return _studies.split(name)[0].endswith(".py")


def _show_plugin(family: str, name: str) -> None:
    """Print the docstrings of a member and the arguments that a config may give."""
    from pe_lab.choices import parameters
    from pe_lab.runs.plugins import plugins
    from pe_lab.runs.settings import declarations, plugin

    cls: Any = plugins.find(family, name)
    module = inspect.getmodule(cls)
    if module is not None and module.__doc__:
        terminal.show(f"{inspect.cleandoc(module.__doc__)}\n", is_docstring=True)
    text, described = _docstrings.without_arguments(cls.__doc__ or "")
    if text:
        terminal.show(f"{text}\n", is_docstring=True)
    package = cls.__module__.rpartition(".")[0]  # its classes are names of a package of pe_lab
    package = package if package in parts.packages(family) else cls.__module__
    terminal.show(f"    from {package} import {cls.__name__}\n")
    arguments = dict(parameters(cls))
    context = [name for name in plugins.CONTEXT[family] if arguments.pop(name, None)]
    terminal.show("Arguments:" if arguments else "It has no arguments.")
    for name, parameter in arguments.items():
        terminal.show(f"  {parameter}")
        if name in described:
            terminal.show(f"      {described[name]}")
    if context:
        terminal.show(f"The model also gives the class: {', '.join(context)}.")
    if family == "encodings":
        settings = ", ".join(declarations.declared_settings(plugin.Encoding))
        terminal.show(
            f"A config may also say where it acts: {settings} (docs/models.md of a checkout)."
        )
    file = Path(inspect.getfile(cls))
    terminal.show(f"File: {file}")
    # A private file that a docstring names lies beside it.
    named = re.findall(r"(?<![\w/])_\w+\.py", f"{inspect.getdoc(module)} {inspect.getdoc(cls)}")
    for beside in map(file.with_name, dict.fromkeys(named)):
        if beside.exists():
            terminal.show(f"File: {beside}")


def _show_metric(name: str) -> None:
    """Print the description of a metric and its declarations."""
    from pe_lab.metrics import base

    metric = base.by_name()[name]
    terminal.show(inspect.getmodule(metric).__doc__, is_docstring=True)
    for field in ("label", "lower_is_better", "by_length", "tested_to", "style"):
        terminal.show(f"  {field} = {getattr(metric, field)!r}")


def _show_study(name: str) -> None:
    """Print the question of a study, its axes and how many of its runs have records."""
    from pe_lab.runs.records import records
    from pe_lab.runs.studies import study_files

    folder = _studies.folder(name)
    study = study_files.read(folder)
    if "question" in study.analysis:
        terminal.show(f"{study.analysis['question']}\n")
    statuses = {run_id: record["status"] for run_id, record in records.read_all(folder).items()}
    counts = Counter(statuses.get(run_id, "without a record") for _, run_id in study.entries)
    terminal.show(f"folder    {folder}")
    terminal.show(f"runs      {', '.join(f'{count} {status}' for status, count in counts.items())}")
    for axis in dict.fromkeys(axis for labels, _ in study.entries for axis in labels):
        values = dict.fromkeys(labels[axis] for labels, _ in study.entries if axis in labels)
        terminal.show(f"axis      {axis}: {', '.join(values)}")
