"""The door of contrib: the core finds the members and commands of parts, and each part is whole."""

import re
from pathlib import Path

import pytest

from pe_lab import cli, parts

ROOT = Path(__file__).parents[1]
PARTS = sorted(file.parent for file in (ROOT / "pe_lab" / "contrib").glob("*/__init__.py"))
FAMILIES = (
    "cli",
    "data",
    "data.made",
    "encodings",
    "metrics",
    "positions",
    "tables",
    "tasks",
    "training.lengths",
    "training.optimizers",
)


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.name)
def test_a_part_has_a_short_readme_with_its_door_and_tests(part):
    text = (part / "README.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 14
    assert re.search(r"^Door: .*^It needs ", text, re.MULTILINE | re.DOTALL)
    assert list((ROOT / "tests" / "contrib" / part.name).rglob("test_*.py"))


def test_no_part_has_the_docstring_of_another():
    docstrings = [(part / "__init__.py").read_text(encoding="utf-8") for part in PARTS]
    assert len(set(docstrings)) == len(PARTS)


@pytest.mark.parametrize("family", FAMILIES)
def test_no_name_is_in_two_packages(family):
    folders = [ROOT / package.replace(".", "/") for package in parts.packages(family)]
    names = [file.stem for folder in folders for file in folder.glob("[!_]*.py")]
    names += [file.parent.name for folder in folders for file in folder.glob("[!_]*/__init__.py")]
    nested = [name.removeprefix(f"{family}.") for name in FAMILIES if name.startswith(f"{family}.")]
    names = [name for name in names if name not in nested] + nested
    assert sorted(names) == parts.names(family)


@pytest.mark.parametrize(
    ("family", "name", "module"),
    [
        ("cli", "tables", "pe_lab.cli.tables"),
        ("cli", "rope", "pe_lab.contrib.rope.cli.rope"),
        ("cli", "ropes", None),
        ("tables", "setting_tables", "pe_lab.contrib.grids.tables.setting_tables"),
        ("tasks", "copy", "pe_lab.tasks.copy"),
        ("tasks", "_strings", "pe_lab.tasks._strings"),
        ("tasks", "lego", "pe_lab.contrib.papers.tasks.lego"),
        ("training.lengths", "fixed", "pe_lab.contrib.papers.training.lengths.fixed"),
    ],
)
def test_a_name_has_its_module_and_its_file_in_the_core_or_in_a_part(family, name, module):
    assert parts.module(family, name) == module
    file = ROOT / f"{module.replace('.', '/')}.py" if module else None
    assert parts.file(family, name) == file


def test_a_command_of_a_part_is_one_of_the_commands():
    assert {"rope", "tables"} <= set(cli.names())
