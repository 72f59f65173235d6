"""Renders the pages of published studies, once: README.md, numbers.json and pictures.

    python -m experiments.page noise saturation

The folder of a study has the template README.md.jinja and, if the page has an analysis of its own,
page.py with two functions: `lookups(root)` returns the names of the template, and `draw(root)`
draws pictures (optional).

A page is a document. numbers.json has all numbers that README.md and the pages of docs cite, with
the commit of the code that computed them. Nothing computes them again when pe_lab changes, and
page.py need not run with later code. `python -m docs.build` renders README.md from the template
and numbers.json alone.
"""

import functools
import importlib.util
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from docs.build import numbers, pages
from docs.build.numbers import Document
from docs.build.published import STUDIES
from experiments import claims, published
from pe_lab import cli
from pe_lab.cli._arguments import arguments, flag
from pe_lab.runs.errors import UserError, unknown
from pe_lab.training import provenance

# The only interval behind a number, such as [0.50, 0.77].
_INTERVAL = re.compile(r"\[([-+−]?[\d.]+), ([-+−]?[\d.]+)\]")
# The code of pages that is not code of runs, as patterns of git.
CODE = (":/docs/build", f":/{STUDIES}/*.py")
Numbers = dict[str, dict[str, object]]


@dataclass(frozen=True)
class Options:
    """Arguments of `python -m experiments.page`."""

    names: Sequence[str] = arguments("published studies, by the names of their folders")
    allow_dirty: bool = flag("render pages with code that was not committed")


def run(options: Options) -> int:
    root = Path()
    known = [path.parent.name for path in root.glob(f"{STUDIES}/*/{pages.README_TEMPLATE}")]
    for name in options.names:
        if name not in known:
            raise unknown("experiments.page", name, known)
    if not options.names:
        raise UserError("Name a published study. A page is rendered once, so there is no default.")
    if provenance.has_uncommitted_code(more=CODE) and not options.allow_dirty:
        raise UserError(
            "The code of pe_lab or of pages has changes that are not committed: commit them, or "
            "give --allow-dirty."
        )
    for page in write(root, options.names):
        print(f"wrote {page}")
    return 0


def write(root: Path, names: Sequence[str]) -> list[Path]:
    """Write numbers.json, README.md and the pictures of published studies below `root`."""
    modules = {name: _analysis(root, name) for name in names}
    by_page: dict[str, Numbers] = {}
    live: dict[str, Document] = {}
    for name, module in modules.items():
        by_page[name] = {}
        live[name] = _lookups(root, name, module, by_page[name])

    def documents(name: str) -> Document:
        return live[name] if name in live else numbers.document(root, name)

    written = [STUDIES / name / "README.md" for name in names]
    for page in written:
        pages.text(root, page, documents)
    # Other pages cite numbers that README.md does not have.
    for page in pages.templates_of(root):
        if str(page) in pages.CITING:
            pages.text(root, page, documents)
    commit = provenance.commit()
    for name in names:
        file = root / STUDIES / name / numbers.FILE
        file.write_text(_as_json(commit, by_page[name]), encoding="utf-8")
    numbers.document.cache_clear()
    for page in written:
        (root / page).write_text(pages.text(root, page), encoding="utf-8")
    for module in filter(None, modules.values()):
        if hasattr(module, "draw"):
            module.draw(root)
    if any("reproduction" in live[name] for name in names):
        claims.draw(root)
    return written


def _analysis(root: Path, name: str) -> ModuleType | None:
    """Import page.py of a study; None if it has none."""
    file = root / STUDIES / name / "page.py"
    if not file.exists():
        return None
    title = f"results.published.{name}.page"
    imported = sys.modules.get(title)  # by page.py of another study
    if imported and Path(str(imported.__file__)).absolute() == file.absolute():
        return imported
    spec = importlib.util.spec_from_file_location(title, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[title] = module
    spec.loader.exec_module(module)
    return module


def _lookups(root: Path, name: str, module: ModuleType | None, entries: Numbers) -> Document:
    """Return the names of a page; every number that a template reads from them enters `entries`."""
    is_study = (root / STUDIES / name / "study.json").exists()
    names: dict[str, tuple[object, str]] = {}
    if is_study:
        of_all = published.lookups(root, name)
        names = {key: (value, "records.jsonl.gz") for key, value in of_all.items()}
    if module is not None:
        names |= {key: (value, "page.py") for key, value in module.lookups(root).items()}
    return {key: _record(value, key, entries, source) for key, (value, source) in names.items()}


class Recorder:
    """An object of a page whose members, and what they return, enter the numbers of the page."""

    def __init__(self, value: Any, name: str, record: Callable[[object, str], object]):
        self._value, self._name, self._record = value, name, record

    def __getattr__(self, name: str) -> object:
        if name.startswith(("_", "jinja_")):  # Jinja asks for protocols of its own
            raise AttributeError(name)
        is_mapping = isinstance(self._value, Mapping)
        member = self._value[name] if is_mapping else getattr(self._value, name)
        return self._record(member, f"{self._name}.{name}")

    def __call__(self, *arguments: object, **keywords: object) -> object:
        values = [a._value if isinstance(a, Recorder) else a for a in arguments]
        return self._record(
            self._value(*values, **keywords), numbers.called(self._name, arguments, keywords)
        )

    def __str__(self) -> str:
        return self._name


def _record(value: object, name: str, entries: Numbers, source: str) -> object:
    """Return a value for a template; enter a number, or prepare to enter what it leads to."""
    if isinstance(value, np.generic):
        value = value.item()
    if not _is_json(value):
        return Recorder(value, name, functools.partial(_record, entries=entries, source=source))
    entry = _entry(value, name, source)
    if entries.setdefault(name, entry) != entry:
        raise UserError(f"{name} has two values: {entries[name]['shown']} and {value}.")
    return value


def _is_json(value: object) -> bool:
    if isinstance(value, Mapping):
        return all(map(_is_json, value.values()))
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    return value is None or isinstance(value, str | int | float)


def _entry(value: object, name: str, source: str) -> dict[str, object]:
    """Return what a page shows, its interval if it has one, and where it comes from."""
    entry: dict[str, object] = {"shown": value}
    intervals = _INTERVAL.findall(value) if isinstance(value, str) else []
    if len(intervals) == 1:
        entry["interval"] = [float(end.replace("−", "-")) for end in intervals[0]]
    if other := re.match(r"of\((\w+)\)\.", name):
        source = f"../{other[1]}/{source}"
    return entry | {"from": source}


def _as_json(commit: str | None, entries: Numbers) -> str:
    """Return the file, with a line for each number."""
    lines = []
    for name, entry in entries.items():
        lines.append(f"  {_json(name)}: {_json(entry)}")
    return f'{{\n "commit": {_json(commit)},\n "numbers": {{\n' + ",\n".join(lines) + "\n }\n}\n"


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


if __name__ == "__main__":
    cli.main_of(sys.modules[__name__], "python -m experiments.page")
