"""Members, configs and studies are listed and shown."""

import shutil
from pathlib import Path

import pytest

import pe_lab
from pe_lab import cli
from pe_lab.cli import _catalog
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("family", _catalog.FAMILIES)
def test_every_member_is_listed_with_a_sentence(family, capsys):
    assert cli.run(["list", family]) == 0
    lines = dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())
    assert set(plugins.names(family)) <= set(lines)
    assert all(len(line) > 10 for line in lines.values())


def test_studies_are_those_of_the_folder(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    cli.run(["list", "studies"])
    assert capsys.readouterr().out == (
        "There are no studies here, in results or results/published. "
        "The published ones are in results/published of a checkout of pe_lab. "
        "`pe-lab suite` prints rows of them, and `pe-lab list configs` lists what can be trained.\n"
    )


@pytest.mark.parametrize(
    ("study", "sentence"),
    [
        (
            "quickstart",
            "The study 'quickstart' has no runs here. Train it: pe-lab sweep quickstart.",
        ),
        ("mine", "There are no studies here, so none is named 'mine'. The published ones are in "),
    ],
)
def test_a_study_that_is_not_here_can_be_trained_or_is_elsewhere(
    study, sentence, monkeypatch, tmp_path
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError) as raised:
        cli.run(["tables", study])
    assert str(raised.value).startswith(sentence)


@pytest.mark.parametrize(
    ("arguments", "lines"),
    [
        (["list", "configs"], ["quickstart "]),
        (["list", "studies"], ["quickstart "]),
        (["show", "auc"], ["  lower_is_better = False\n"]),
        (
            ["show", "quickstart"],
            [
                "folder    results/published/quickstart\n",
                "runs      39 finished\n",
                "axis      seed: 0, 1, 2",
            ],
        ),
        (
            ["show", "results/published/quickstart"],
            ["folder    results/published/quickstart\n"],
        ),
    ],
)
def test_members_and_studies_of_a_checkout_are_listed_and_shown(
    arguments, lines, capsys, monkeypatch
):
    monkeypatch.chdir(ROOT)
    assert cli.run(arguments) == 0
    text = f"\n{capsys.readouterr().out}"
    for line in lines:
        assert f"\n{line}" in text


def test_a_damaged_study_does_not_hide_the_others(capsys, monkeypatch, tmp_path):
    (tmp_path / "results" / "broken").mkdir(parents=True)
    (tmp_path / "results" / "broken" / "study.json").write_text("{", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert cli.run(["list", "studies"]) == 0
    assert "is damaged" in capsys.readouterr().out


def test_an_encoding_is_shown_with_each_argument_once_and_its_import(capsys):
    assert cli.run(["show", "t5_bias"]) == 0
    text = capsys.readouterr().out
    assert "from pe_lab.encodings import T5Bias" in text
    assert text.partition("Arguments:")[2] == (
        "\n"
        "  num_buckets: int = 32\n"
        "      number of buckets, 32 in the paper.\n"
        "  max_distance: int = 128\n"
        "      this distance and all larger ones share the last bucket; 128 in the paper.\n"
        "The model also gives the class: width, num_heads, bidirectional, rngs.\n"
        "A config may also say where it acts: layers, share, heads, stacks, axis, positions "
        "(docs/models.md of a checkout).\n"
        f"File: {Path(pe_lab.__file__).parent / 'encodings' / 't5_bias.py'}\n"
    )
    assert "Args:" not in text


def test_a_file_that_the_text_of_an_encoding_names_is_shown_with_its_path(capsys):
    cli.run(["show", "rope"])
    text = capsys.readouterr().out
    assert "are in _rope_scaling.py" in text
    folder = Path(pe_lab.__file__).parent / "encodings"
    assert text.endswith(f"File: {folder / 'rope.py'}\nFile: {folder / '_rope_scaling.py'}\n")


def test_a_class_of_another_package_is_shown_with_its_own_import(capsys, tmp_path, monkeypatch):
    text = "from pe_lab.tasks import Copy\n\nclass Mine(Copy):\n    'Copy again.'\n"
    (tmp_path / "shown_tasks.py").write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert cli.run(["show", "shown_tasks:Mine", "--kind=tasks"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Copy again.\n")
    assert "from shown_tasks import Mine" in text


def test_a_config_file_shows_its_docstring_and_then_its_study(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("quick.py").write_text('"""A question."""\n', encoding="utf-8")
    Path("bare.py").write_text("", encoding="utf-8")
    assert cli.run(["show", "quick.py:smoke"]) == 0
    assert cli.run(["show", "bare.py"]) == 0
    assert capsys.readouterr().out == "A question.\nbare.py has no docstring.\n"
    shutil.copytree(ROOT / "results" / "published" / "quickstart", "results/quick_smoke")
    assert cli.run(["show", "quick.py:smoke"]) == 0
    assert "folder    results/quick_smoke\nruns      39 finished\n" in capsys.readouterr().out
    with pytest.raises(UserError, match=r"^There is no file qick.py. Did you mean 'quick'\?$"):
        cli.run(["show", "qick.py"])


def test_an_unknown_study_has_its_near_name(monkeypatch):
    monkeypatch.chdir(ROOT)
    with pytest.raises(UserError, match=r"has no 'quikstart'\. Did you mean 'quickstart'\?"):
        cli.run(["show", "quikstart", "--kind=studies"])


def test_a_name_of_two_kinds_needs_the_kind(monkeypatch):
    monkeypatch.setattr(_catalog, "summaries", lambda kind: {"copy": "a line"})
    with pytest.raises(UserError, match=r"^'copy' is one of the encodings and of the positions"):
        cli.run(["show", "copy"])
