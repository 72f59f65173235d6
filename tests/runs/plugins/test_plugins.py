"""Every file of a family is found under its class."""

import importlib
import sys
from pathlib import Path

import pytest

from pe_lab import parts
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins

FAMILIES = ("encodings", "positions", "tasks", "training.lengths", "training.optimizers")


def files_of(family):
    others = ("attributes", "base", "batch", "chance_levels", "layouts", "ops", "requirements")
    root = Path(plugins.__file__).parents[3]
    folders = [root / package.replace(".", "/") for package in parts.packages(family)]
    files = [file for folder in folders for file in folder.glob("[!_]*.py")]
    return sorted(file.stem for file in files if file.stem not in others)


FRESH = """
from pe_lab.encodings.base import AttentionEncoding

class Fresh(AttentionEncoding):
    pass
"""


@pytest.fixture
def drop_in(tmp_path, monkeypatch):
    """Adds files to the folder of the encodings, as far as imports can tell."""
    family = importlib.import_module("pe_lab.encodings")
    folders = [*family.__path__, str(tmp_path)]
    monkeypatch.setattr(family, "__path__", folders)
    monkeypatch.setattr(family.__spec__, "submodule_search_locations", folders)
    yield lambda name, text: (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    for file in tmp_path.glob("*.py"):
        sys.modules.pop(f"pe_lab.encodings.{file.stem}", None)


@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family in FAMILIES for name in files_of(family)]
)
def test_every_file_is_found_under_its_class(family, name):
    found = plugins.find(family, name)
    assert found.__module__ == parts.module(family, name)
    assert found.__name__.lower() == name.replace("_", "")


@pytest.mark.parametrize("family", FAMILIES)
def test_names_are_the_files_of_the_folder(family):
    assert plugins.names(family) == files_of(family)


def test_proper_names_are_kept():
    found = [
        plugins.find("encodings", n).__name__
        for n in ("rope", "alibi", "t5_bias", "nope", "raw_index")
    ]
    assert found == ["RoPE", "ALiBi", "T5Bias", "NoPE", "RawIndex"]


def test_a_new_file_is_an_encoding_without_being_registered(drop_in):
    drop_in("fresh", FRESH)
    assert "fresh" in plugins.names("encodings")
    assert plugins.find("encodings", "fresh").__name__ == "Fresh"


def test_a_file_whose_name_starts_with_an_underscore_is_no_encoding(drop_in):
    drop_in("_fresh", FRESH)
    with pytest.raises(UserError, match="pe_lab/encodings has no '_fresh'"):
        plugins.find("encodings", "_fresh")


@pytest.mark.parametrize(
    ("classes", "count"),
    [
        ("class One(AttentionEncoding): pass\nclass Two(AttentionEncoding): pass", 2),
        ("class _Hidden(AttentionEncoding): pass", 0),
    ],
)
def test_a_file_with_another_number_of_public_classes_than_one_is_refused(drop_in, classes, count):
    drop_in("odd", f"from pe_lab.encodings.base import AttentionEncoding\n{classes}\n")
    with pytest.raises(
        UserError,
        match=(
            f"pe_lab/encodings/odd.py must define one public class of its family, it defines "
            f"{count}"
        ),
    ):
        plugins.find("encodings", "odd")


@pytest.mark.parametrize(
    ("family", "name", "sentence"),
    [
        ("encodings", "ropee", "has no 'ropee'. Did you mean 'rope'?"),
        ("positions", "randomised", "has no 'randomised'. Did you mean 'randomized'?"),
        ("tasks", "copi", "has no 'copi'. Did you mean 'copy'?"),
        ("tasks", "layouts", "has no 'layouts'"),
        ("encodings", "base", "has no 'base'"),
        ("encodings", "RoPE", "has no 'RoPE'"),
    ],
)
def test_a_name_without_a_file_is_refused_with_the_near_one(family, name, sentence):
    with pytest.raises(UserError) as refused:
        plugins.find(family, name)
    assert str(refused.value).startswith(f"pe_lab/{family} {sentence}")
