"""Every command that reads a study's results takes --study=NAME or --results=FOLDER."""

import shutil
from pathlib import Path

import pytest

from tests.experiments.entry_points import ROOT, call

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
WRITERS = ("sweep", "train", "examples", "freeze")


@pytest.fixture(params=READERS)
def reader(request):
    return request.param, READERS[request.param]


def refused(module, *arguments, cwd=ROOT):
    done = call(module, *arguments, cwd=cwd)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    return done.stderr.removeprefix("error: ").rstrip("\n")


def test_every_command_that_reads_results_is_tested_here():
    modules = [path.stem for path in (ROOT / "experiments").glob("*.py")]
    with_study = {
        module
        for module in modules
        if "study_folder.define()" in (ROOT / "experiments" / f"{module}.py").read_text()
    }
    assert with_study == set(READERS)


@pytest.mark.slow
def test_without_a_study_the_sentence_names_both_flags(reader):
    module, arguments = reader
    assert refused(module, *arguments) == (
        "Which study? Give its name, --study=quickstart, or its folder, "
        "--results=results/quickstart."
    )


def test_both_flags_together_are_refused(reader):
    module, arguments = reader
    assert refused(module, "--study=a", "--results=b", *arguments) == (
        "Give either --study=NAME or --results=FOLDER, not both."
    )


def test_a_path_belongs_to_results(reader):
    module, arguments = reader
    assert refused(module, "--study=results/a", *arguments) == (
        "--study takes the name of a study. For a folder use --results=results/a."
    )


def test_a_folder_without_a_study_is_named(reader):
    module, arguments = reader
    sentence = refused(module, "--results=nowhere", *arguments)
    assert sentence.startswith(("There is no study in ", "There is no run ", "There is no folder "))
    assert "nowhere" in sentence


def test_an_unknown_study_has_its_near_name(reader):
    module, arguments = reader
    assert refused(module, "--study=quikstart", *arguments).startswith(
        "The list of studies in results and results/published has no 'quikstart'. "
        "Did you mean 'quickstart'?"
    )


def test_a_config_is_refused_with_the_flags_that_the_command_takes(reader):
    module, arguments = reader
    assert refused(module, "--config=configs/smoke.py", *arguments) == (
        "This command has no --config: give --study=NAME or --results=FOLDER."
    )


@pytest.mark.slow
@pytest.mark.parametrize("module", WRITERS)
def test_a_command_that_takes_a_config_names_it(module):
    assert refused(module) == "Which study? Give its config: --config=quickstart."
    assert refused(module, "--config=configs/smoke.py", "--study=smoke") == (
        "This command has no --study: name the study by its config, --config=configs/NAME.py."
    )


@pytest.mark.parametrize("module", [*READERS, *WRITERS])
def test_help_starts_with_a_sentence_and_lists_the_flags(module):
    done = call(module, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    first = done.stdout.partition("\n")[0]
    assert first.endswith((".", ":"))
    flags = ("study", "results") if module in READERS else ()
    for flag in flags:
        assert f"\n  --{flag}: " in done.stdout


@pytest.fixture
def checkout(tmp_path):
    """A folder with one published study and none that was trained."""
    published = tmp_path / "results" / "published" / "quickstart"
    shutil.copytree(QUICKSTART, published)
    return tmp_path


@pytest.mark.slow
def test_a_name_is_the_trained_study_and_else_the_published_one(checkout):
    done = call("status", "--study=quickstart", cwd=checkout)
    assert done.stdout.startswith("quickstart: 36 runs: 36 done")
    trained = Path(checkout, "results", "quickstart")
    trained.mkdir()
    shutil.copy(QUICKSTART / "study.json", trained)
    done = call("status", "--study=quickstart", cwd=checkout)
    assert done.stdout.startswith("quickstart: 36 runs: 0 done")


def test_a_published_study_is_not_published_onto_itself(checkout):
    before = sorted(path.name for path in checkout.rglob("*"))
    assert refused("publish", "--study=quickstart", cwd=checkout) == (
        "results/published/quickstart is the published study: give the folder that was trained."
    )
    assert sorted(path.name for path in checkout.rglob("*")) == before
