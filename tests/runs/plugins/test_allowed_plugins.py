"""Classes of other packages are imported only where the user names or allows their package."""

import sys
import types
from pathlib import Path

import pytest

from pe_lab import cli
from pe_lab.cli import _config_files
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import other_packages, plugin_sources, plugins
from pe_lab.runs.records import records, run_group_files
from pe_lab.runs.run import from_record
from pe_lab.runs.specs import plugin_specs
from pe_lab.runs.studies import study_files
from tests import tiny
from tests.experiments.entry_points import call
from tests.results.fake_study import point, record, write_study

MODULE = """
from pathlib import Path
from pe_lab.encodings.alibi import ALiBi
Path(__file__).with_name("imported").touch()

class Mine(ALiBi):
    pass
"""
SENTENCE = (
    "'foreign.mine:Mine' is not imported: neither this command nor the config names a class of "
    "foreign. If you trust this package, give --allow-plugins=foreign."
)


@pytest.fixture
def package(tmp_path, monkeypatch):
    """The folder of a package whose import leaves a file."""
    folder = tmp_path / "foreign"
    folder.mkdir()
    (folder / "__init__.py").write_text("from foreign.mine import Mine", encoding="utf-8")
    (folder / "mine.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    yield folder
    for name in [m for m in sys.modules if m.partition(".")[0] == "foreign"]:
        del sys.modules[name]


def is_imported(package):
    return (package / "imported").exists()


def test_a_program_imports_every_package(package):
    assert plugins.find("encodings", "foreign.mine:Mine").__name__ == "Mine"
    assert is_imported(package)


@pytest.mark.parametrize("packages", [(), ("other",), ("foreign_too",), ("foreign.min",)])
def test_a_package_that_is_not_allowed_is_not_imported(package, packages):
    other_packages.allow_only(packages)
    with pytest.raises(UserError) as refused:
        plugins.find("encodings", "foreign.mine:Mine")
    assert str(refused.value) == SENTENCE
    assert not is_imported(package)


@pytest.mark.usefixtures("package")
@pytest.mark.parametrize("allowed", ["foreign", "foreign.mine"])
def test_an_allowed_package_or_module_is_imported(allowed):
    other_packages.allow_only([allowed])
    assert plugins.find("encodings", "foreign.mine:Mine").__name__ == "Mine"
    assert plugins.find("encodings", "pe_lab.encodings.rope:RoPE").__name__ == "RoPE"


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        ("--encodings=rope, a.b:C(size=3) + _d:E", {"a", "_d"}),
        ("[{'name': 'my.module:Mine', 'size': 3}]", {"my"}),
        ("rope(base=5e5) https://arxiv.org {'a': 3}", set()),
    ],
)
def test_packages_are_found_in_texts(text, packages):
    assert other_packages.packages_in(text) == packages


def test_a_digest_of_a_class_needs_no_import(package):
    digest = plugin_sources.source_digest("encodings", "foreign.mine:Mine")
    assert not is_imported(package)
    # The package has the class from its module, which only an import tells.
    assert plugin_sources.source_digest("encodings", "foreign:Mine") == digest
    assert is_imported(package)


def test_a_class_that_cannot_be_compared_without_an_import_is_not_called_changed(package):
    other_packages.allow_only(())
    names = ("encodings/foreign:Mine", "encodings/foreign.mine:Mine")
    assert [plugin_sources.is_changed(name, "0" * 16) for name in names] == [False, True]
    assert not is_imported(package)


@pytest.fixture
def foreign_study(tmp_path):
    """A results folder from elsewhere that names the package: a finished and a failed run."""
    folder = tmp_path / "results"
    settings = tiny.run().to_dict()
    settings["model"]["encodings"] = [
        {**plugin_specs.encodings([{"name": "rope"}])[0].to_dict(), "name": "foreign.mine:Mine"}
    ]
    entries = []
    for seed, status in enumerate(("finished", "failed")):
        config = {**settings, "seed": seed}
        run = record(from_record(config).run_id, seed, status=status, test={4: 1.0, 8: 0.5})
        run["config"] = config
        run["provenance"] = {"sources": {"encodings/foreign.mine:Mine": "0" * 16}}
        run["checkpoint"] = {"run_group": "fedcba9876543210", "member": 0, "step": 100}
        entries.append((point("mine", seed), run))
    group = run_group_files.path_of(folder, "fedcba9876543210")
    records.write_json(group, {"runs": [settings], "run_ids": ["0123456789abcdef"]})
    return write_study(folder, *entries)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "arguments", "status"),
    [
        ("status", [], 0),
        ("status", ["--retry_failed"], 1),
        ("tables", [], 0),
        ("report", [], 0),
        ("evaluate", ["--lengths=16"], 2),
        ("inspect", ["--run=RUN"], 2),
    ],
)
def test_no_command_imports_what_a_foreign_results_folder_names(
    package, foreign_study, command, arguments, status
):
    entries = study_files.read(foreign_study).entries
    arguments = [argument.replace("RUN", entries[0][1]) for argument in arguments]
    arguments = [foreign_study, *arguments]
    done = call(command, *arguments, path=[package.parent])
    assert done.returncode == status, done.stderr
    assert (SENTENCE in done.stderr) == (status > 0)
    assert not is_imported(package)
    if command == "evaluate":
        call(command, *arguments, "--allow_plugins=foreign", path=[package.parent])
        assert is_imported(package)


def test_an_export_of_weights_imports_a_class_that_is_allowed(package, foreign_study, monkeypatch):
    library = types.ModuleType("safetensors.numpy")
    library.save = None
    monkeypatch.setitem(sys.modules, "safetensors", types.ModuleType("safetensors"))
    monkeypatch.setitem(sys.modules, "safetensors.numpy", library)
    arguments = ["export", str(foreign_study), "--to=safetensors"]
    with pytest.raises(UserError, match=SENTENCE):
        cli.run(arguments)
    assert not is_imported(package)
    with pytest.raises(UserError, match="has no"):  # its arguments are those of RoPE
        cli.run([*arguments, "--allow-plugins=foreign"])
    assert is_imported(package)


CONFIG = """
from pe_lab.runs import grid
from pe_lab.studies import base

get_config = base.get_config


def sweep():
    return grid.product({"model.encodings": [(dict(name="headrope:Head"),)]})
"""


def test_classes_that_only_the_sweep_of_a_config_names_are_allowed_for_its_study(
    monkeypatch, tmp_path
):
    monkeypatch.setenv("PE_LAB_ALLOWED_PLUGINS", "pe_lab")
    file = tmp_path / "mine.py"
    file.write_text(CONFIG, encoding="utf-8")
    assert not other_packages.is_allowed("headrope:Head")
    assert _config_files.study_folder(str(file)) == Path("results/mine")
    assert other_packages.is_allowed("headrope:Head")
    assert not other_packages.is_allowed("foreign:Head")


def test_a_command_without_the_flag_refuses_it():
    with pytest.raises(UserError, match=r"^pe-lab list has no '--allow-plugins'"):
        cli.run(["list", "tasks", "--allow-plugins=mine"])
