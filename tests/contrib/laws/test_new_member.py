"""One file means one file: a new member with its test leaves all checks green."""

import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from pe_lab import cli
from pe_lab.contrib.laws.cli import new
from pe_lab.runs.errors import UserError

ROOT = Path(__file__).parents[3]
MEMBERS = {
    "encodings": "my_encoding",
    "positions": "my_scheme",
    "tasks": "my_task",
    "metrics": "my_metric",
}
QUICK = "not full and not peers and not cluster and not latex and not gpu and not wheel"
# What reads all members: the laws, names of modules, and pages.
CHECKS = (
    "tests/encodings/test_base.py",
    "tests/encodings/test_laws.py",
    "tests/encodings/test_numbers.py",
    "tests/encodings/test_requirements.py",
    "tests/encodings/test_my_encoding.py",
    "tests/positions/test_laws.py",
    "tests/positions/test_my_scheme.py",
    "tests/tasks/test_laws.py",
    "tests/tasks/test_my_task.py",
    "tests/metrics",
    "tests/test_names.py",
    "tests/runs/plugins/test_plugins.py",
)


def copied_tree(root):
    """A copy of what members touch; the rest of the checkout is linked."""
    ignore = shutil.ignore_patterns("__pycache__", "*.png", "*.svg", "*.ipynb")
    for folder in ("pe_lab", "tests", "docs"):
        shutil.copytree(ROOT / folder, root / folder, ignore=ignore)
    for name in ("configs", "experiments", "results", "README.md", "pyproject.toml"):
        (root / name).symlink_to(ROOT / name)
    return root


def run(root, *arguments):
    """Run a module in a copy of the tree; its output must be free of errors."""
    env = os.environ | {"PYTHONPATH": str(root)}
    command = [sys.executable, "-m", *arguments]
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    root = copied_tree(tmp_path_factory.mktemp("checkout"))
    for family, name in MEMBERS.items():
        new.write(root, family, name, "bias")
    return root


def outcomes(root, *arguments):
    """Test -> its failure, or ""."""
    result = run(root, "pytest", *arguments, "--junitxml=out.xml")
    assert (root / "out.xml").exists(), result.stdout + result.stderr
    cases = ElementTree.parse(root / "out.xml").getroot().iter("testcase")
    failures = {}
    for case in cases:
        parts = [*case.iter("failure"), *case.iter("error")]
        failures[case.get("name")] = " ".join(part.get("message", "") for part in parts)
    return failures


@pytest.mark.slow
def test_its_laws_and_all_that_reads_every_member_pass(tree):
    names = " or ".join([*MEMBERS.values(), "global_name", "files_of_the_folder"])
    failures = outcomes(tree, *CHECKS, "-k", names, "-m", QUICK)
    assert {test: failure for test, failure in failures.items() if failure} == {}
    assert "test_law_holds[my_encoding-order_is_seen]" in failures
    assert "test_law_holds[my_scheme-traits_say_what_positions_are]" in failures
    assert "test_the_target_is_the_oracles[my_task]" in failures
    assert "test_sums_over_parts_add_up_to_those_of_the_whole[my_metric]" in failures
    assert "test_every_global_name_is_defined" in failures


def test_evaluation_and_analysis_specs_know_a_new_metric(tree):
    program = """if True:
        import types
        from pe_lab.metrics.base import measured_for
        from pe_lab.results import metrics, read_analysis_spec
        task = types.SimpleNamespace(has_scratchpad=False, is_text=False)
        assert "my_metric" in [metric.name for metric in measured_for(task)]
        tables = [{"columns": [], "metric": {"name": "my_metric", "at": 2}}]
        spec = read_analysis_spec.from_dict({"tables": tables})
        print(metrics.BY_NAME[spec.tables[0].metric.name].label)
    """
    env = os.environ | {"PYTHONPATH": str(tree)}
    command = [sys.executable, "-c", program]
    result = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    assert result.stdout == "my metric\n", result.stderr


@pytest.mark.slow
def test_stale_pages_are_named_and_one_command_writes_its_rows(tree):
    pages = ("docs/encodings.md", "docs/tasks.md")
    stale = run(tree, "docs.build", "--check", *pages)
    assert stale.returncode == 2
    assert "2 pages are stale: docs/encodings.md, docs/tasks.md." in stale.stderr
    assert run(tree, "docs.build", *pages).returncode == 0
    encodings = (tree / "docs" / "encodings.md").read_text(encoding="utf-8")
    link = "[my_encoding](../pe_lab/encodings/my_encoding.py)"
    assert f"| {link} | −slope · 2^(−h) · log(1 + d), h = 0, 1, … |" in encodings
    assert "| [my_scheme](../pe_lab/positions/my_scheme.py) | stride · t | never |" in encodings
    tasks = (tree / "docs" / "tasks.md").read_text(encoding="utf-8")
    link = "[my_task](../pe_lab/tasks/my_task.py)"
    assert f"| {link} | Write the successor of each symbol. |" in tasks


@pytest.mark.full
@pytest.mark.parametrize("kind", new.KINDS)
def test_every_kind_of_encoding_obeys_every_law(tmp_path, kind):
    root = copied_tree(tmp_path)
    new.write(root, "encodings", "my_encoding", kind)
    failures = outcomes(root, "tests/encodings", "-k", "my_encoding")
    assert len(failures) > 20
    assert {test: failure for test, failure in failures.items() if failure} == {}


@pytest.mark.slow
def test_the_written_files_are_formatted_and_free_of_lint(tmp_path):
    root = copied_tree(tmp_path)
    for family in new.TEMPLATE_OF:
        for kind in new.KINDS:
            new.write(root, family, f"my_{kind}", kind)
    for command in (("check",), ("format", "--check")):
        result = run(root, "ruff", *command, "pe_lab", "tests")
        assert result.returncode == 0, result.stdout


@pytest.mark.parametrize(
    ("family", "name", "sentence"),
    [
        ("encodings", "rope", "pe_lab/encodings/rope.py exists; take another name."),
        ("encodings", "laws", "tests/encodings/test_laws.py exists; take another name."),
        ("positions", "2x", "'2x' cannot name a Python module; take a name such as my_scheme."),
        ("tasks", "class", "'class' cannot name a Python module; take a name such as my_task."),
    ],
)
def test_a_name_that_is_taken_or_is_no_name_is_rejected(family, name, sentence):
    with pytest.raises(UserError) as raised:
        new.write(ROOT, family, name, "bias")
    assert str(raised.value) == sentence


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["encodin", "my_rope"], "pe-lab new: FAMILY has no 'encodin'. Did you mean 'encodings'?"),
        (["encodings"], "pe-lab new needs NAME: the name of its file, such as my_rope."),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(arguments, sentence):
    with pytest.raises(UserError) as raised:
        cli.run(["new", *arguments])
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize("family", MEMBERS)
def test_outside_of_a_checkout_both_files_are_in_the_current_folder(
    family, monkeypatch, tmp_path, capsys
):
    monkeypatch.chdir(tmp_path)
    name = MEMBERS[family]
    assert cli.run(["new", family, name]) == 0
    printed = capsys.readouterr().out
    assert sorted(file.name for file in tmp_path.iterdir()) == [f"{name}.py", f"test_{name}.py"]
    cls = "".join(word.title() for word in name.split("_"))
    assert f"from {name} import {cls}\n" in (tmp_path / f"test_{name}.py").read_text()
    assert "tests." not in (tmp_path / f"test_{name}.py").read_text()
    assert f"{name}:{cls}" in printed
    has_laws = family in ("encodings", "positions")
    assert (f"laws {family} {name}:{cls}\n" in printed) == has_laws


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("mine", "mine.py exists; take another name."),
        ("numpy", "An installed module is named numpy; take another name."),
        ("copy", "An installed module is named copy; take another name."),
    ],
)
def test_outside_of_a_checkout_no_module_is_hidden(name, sentence, tmp_path):
    (tmp_path / "mine.py").write_text("")
    with pytest.raises(UserError) as raised:
        new.write(tmp_path, "tasks", name, "bias")
    assert str(raised.value) == sentence


@pytest.mark.parametrize("word", ["encoding", "encodings"])
def test_singular_and_plural_name_one_kind(word, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(tmp_path)
    for folder in ("pe_lab", "tests"):
        (tmp_path / folder / "encodings").mkdir(parents=True)
    assert cli.run(["new", word, "mine"]) == 0
    assert capsys.readouterr().out.startswith("wrote pe_lab/encodings/mine.py\n")
