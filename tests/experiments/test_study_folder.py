"""Every command that reads a study takes its name, its folder or its config file."""

import shutil
from pathlib import Path

import pytest

from pe_lab import cli
from pe_lab.cli import _studies
from pe_lab.runs.errors import UserError
from tests.experiments.entry_points import ROOT, call, refused

QUICKSTART = ROOT / "results" / "published" / "quickstart"
# Commands, each with the flags that it needs to get as far as the study.
READERS = {
    "check": [],
    "evaluate": ["--lengths=4"],
    "export": ["--to=tensorboard"],
    "inspect": ["--run=0123456789abcdef"],
    "publish": [],
    "report": [],
    "status": [],
    "tables": [],
}


@pytest.fixture(params=READERS)
def reader(request):
    return request.param, READERS[request.param]


def test_every_command_that_reads_a_study_is_tested_here():
    parts = (ROOT / "pe_lab" / "contrib").glob("*/cli")
    folders = (ROOT / "experiments", ROOT / "pe_lab" / "cli", *parts)
    files = [file for folder in folders for file in folder.glob("[!_]*.py")]
    lookups = ("_studies.folder", "_config_files.study_folder")
    readers = {file.stem for file in files if any(name in file.read_text() for name in lookups)}
    assert readers - {"show"} == set(READERS)
    assert set(READERS) - {"publish"} <= set(cli.names())


def test_a_folder_without_a_study_is_named(reader):
    command, arguments = reader
    sentence = refused(command, "results/nowhere", *arguments)
    assert sentence.startswith(("There is no study in ", "There is no run ", "There is no folder "))
    assert "results/nowhere" in sentence


def test_an_unknown_study_has_its_near_name(reader):
    command, arguments = reader
    assert refused(command, "quikstart", *arguments).startswith(
        "The list of studies in results and results/published has no 'quikstart'. "
        "Did you mean 'quickstart'?"
    )


@pytest.fixture
def checkout(tmp_path):
    """A folder with one published study and none that was trained."""
    published = tmp_path / "results" / "published" / "quickstart"
    shutil.copytree(QUICKSTART, published)
    return tmp_path


@pytest.mark.slow
def test_a_name_is_the_trained_study_and_else_the_published_one(checkout):
    done = call("status", "quickstart", cwd=checkout)
    assert done.stdout.startswith("quickstart: 39 runs: 39 done")
    trained = Path(checkout, "results", "quickstart")
    trained.mkdir()
    shutil.copy(QUICKSTART / "study.json", trained)
    done = call("status", "quickstart", cwd=checkout)
    assert done.stdout.startswith("quickstart: 39 runs: 0 done")


def test_a_study_is_named_by_its_config_file(checkout, monkeypatch):
    monkeypatch.chdir(checkout)
    Path("mine.py").touch()
    assert _studies.folder("mine.py") == Path("results/mine")
    assert _studies.folder("mine.py:smoke") == Path("results/mine_smoke")
    with pytest.raises(UserError, match=r"^There is no file xyzzy\.py\.$"):
        _studies.folder("xyzzy.py")
    with pytest.raises(UserError, match=r"^There is no config 'mine'. Did you mean the file mine"):
        _studies.config_file("mine")
    with pytest.raises(UserError, match=r"^The list of configs has no 'xyzzy'\. It has: base, "):
        _studies.config_file("xyzzy")


def test_a_folder_below_this_one_needs_no_slash(checkout, monkeypatch):
    monkeypatch.chdir(checkout / "results" / "published")
    assert _studies.folder("quickstart") == Path("quickstart")


def test_a_published_study_is_not_published_onto_itself(checkout):
    before = sorted(path.name for path in checkout.rglob("*"))
    assert refused("publish", "quickstart", cwd=checkout) == (
        "results/published/quickstart is the published study: give the folder that was trained."
    )
    assert sorted(path.name for path in checkout.rglob("*")) == before
