"""The classes of a family are names of its package, imported at their first use."""

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from docs.build import stubs
from pe_lab import lazy_names, parts
from pe_lab.runs.plugins import plugins

ROOT = Path(__file__).parents[1]
FAMILIES = ("encodings", "positions", "tasks")
# Nothing else of pe_lab has been imported in a new process.
PROGRAM = """
import json, sys
import pe_lab.encodings, pe_lab.positions, pe_lab.tasks, pe_lab.metrics
before = "jax" in sys.modules
from pe_lab.encodings import ALiBi
print(json.dumps([before, ALiBi.__module__, sorted(sys.modules)]))
"""


@pytest.mark.parametrize("family", FAMILIES)
def test_every_member_is_a_name_of_its_package(family):
    for name in plugins.names(family):
        cls = plugins.find(family, name)
        package = importlib.import_module(cls.__module__.rpartition(".")[0])
        assert package.__name__ in parts.packages(family)
        assert getattr(package, cls.__name__) is cls
        assert cls.__name__ in dir(package)


def test_base_classes_are_names_too_and_private_files_have_none():
    from pe_lab import tasks
    from pe_lab.encodings import AttentionEncoding, Tokens
    from pe_lab.metrics import ExactMatch, Metric

    assert AttentionEncoding.__module__ == Tokens.__module__ == "pe_lab.encodings.base"
    assert issubclass(ExactMatch, Metric)
    assert "StringTask" not in dir(tasks)  # of _strings.py


@pytest.mark.slow
def test_an_import_of_one_class_imports_no_other_member():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, capture_output=True, text=True, check=True
    )
    had_jax, module, modules = json.loads(done.stdout)
    assert (had_jax, module) == (False, "pe_lab.encodings.alibi")
    members = [f"pe_lab.encodings.{name}" for name in plugins.names("encodings")]
    assert set(members) & set(modules) == {"pe_lab.encodings.alibi"}


def test_an_unknown_name_has_its_near_name():
    package = importlib.import_module("pe_lab.encodings")
    with pytest.raises(
        AttributeError, match=r"^pe_lab\.encodings has no 'Rope'\. Did you mean 'RoPE'"
    ):
        package.Rope  # noqa: B018
    assert importlib.import_module("pe_lab.encodings.rope") is package.rope


def test_no_two_files_of_a_family_define_a_class_of_one_name():
    for name in stubs.PACKAGES:
        package = importlib.import_module(name)
        folder = Path(package.__path__[0])
        texts = [file.read_text(encoding="utf-8") for file in folder.glob("[!_]*.py")]
        classes = [each for text in texts for each in lazy_names._PUBLIC_CLASS.findall(text)]
        assert len(classes) == len(lazy_names.class_files(name)) > 0


def test_the_stubs_are_what_docs_build_writes():
    assert stubs.stale(ROOT) == []


def test_a_stale_stub_is_found_and_written(tmp_path, capsys):
    for package in stubs.PACKAGES:
        (tmp_path / stubs.path(package)).parent.mkdir(parents=True)
        (tmp_path / stubs.path(package)).write_text(stubs.text(package), encoding="utf-8")
    stub = tmp_path / stubs.path("pe_lab.encodings")
    stub.write_text(stub.read_text(encoding="utf-8").replace("RoPE", "Rope"), encoding="utf-8")
    assert stubs.stale(tmp_path) == [stubs.path("pe_lab.encodings")]
    stubs.write(tmp_path)
    assert capsys.readouterr().out == "wrote pe_lab/encodings/__init__.pyi\n"
    assert stubs.stale(tmp_path) == []
