"""The commit in a record is that of pe_lab's own checkout, or it is unknown."""

import datetime
import os
import subprocess

import pytest

from experiments import page
from pe_lab.training import loop, provenance
from tests import tiny
from tests.training.group_records import by_seed

GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b")


def git(folder, *arguments):
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = [*GIT, *arguments]
    done = subprocess.run(command, cwd=folder, env=clean, check=True, capture_output=True)
    return done.stdout.decode().strip()


def repository(folder, package="pe_lab"):
    """A repository with a committed package; the package's folder and the commit."""
    (folder / package).mkdir(parents=True)
    for name in ("__init__.py", "old.py"):
        (folder / package / name).write_text("")
    (folder / ".gitignore").write_text("*.log\n.venv")
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
        git(folder, *command)
    return folder / package, git(folder, "rev-parse", "HEAD")


@pytest.fixture
def checkout(tmp_path):
    """The folder and the commit of a checkout of pe_lab."""
    return repository(tmp_path / "checkout")


def read(package):
    provenance._git.cache_clear()  # it asks git once in a process
    return provenance.commit(package), provenance.has_uncommitted_code(package)


@pytest.mark.parametrize(
    ("path", "dirty"),
    [
        ("pe_lab/encodings/new.py", True),
        ("configs/new.py", True),
        ("experiments/new.py", True),
        ("pe_lab/old.py", True),
        ("pe_lab/ignored.log", False),
        ("results/new.json", False),
    ],
)
def test_untracked_files_of_the_code_make_provenance_dirty(checkout, path, dirty):
    package, commit = checkout
    git(package, "config", "status.showUntrackedFiles", "no")  # a user's setting hides none
    assert read(package) == (commit, False)
    file = package.parent / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("a = 1")
    assert read(package) == (commit, dirty)


@pytest.mark.parametrize(
    ("path", "dirty"),
    [
        ("results/published/noise/page.py", True),
        ("docs/build/new.py", True),
        ("results/published/noise/README.md.jinja", False),
        ("docs/guide.md", False),
    ],
)
def test_code_of_pages_that_is_not_committed_makes_pages_dirty_and_no_runs(checkout, path, dirty):
    package, commit = checkout
    file = package.parent / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("a = 1")
    assert read(package) == (commit, False)
    assert provenance.has_uncommitted_code(package, page.CODE) == dirty


def test_variables_of_git_name_no_other_repository(checkout, tmp_path, monkeypatch):
    package, commit = checkout
    repository(tmp_path / "other", "project")
    (package / "old.py").write_text("a = 1")
    for name, path in (("DIR", ".git"), ("WORK_TREE", ""), ("INDEX_FILE", ".git/index")):
        monkeypatch.setenv(f"GIT_{name}", str(tmp_path / "other" / path))
    assert read(package) == (commit, True)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(package.parent))
    assert read(package) == (commit, True)


def installed(folder):
    """A pe_lab in the virtual environment of another project."""
    repository(folder, "project")
    package = folder / ".venv" / "pe_lab"
    package.mkdir(parents=True)
    return package


def untracked(folder):
    """A pe_lab that lies beside the files of a repository, which does not track it."""
    repository(folder, "project")
    package = folder / "pe_lab"
    package.mkdir()
    return package


def without_commit(folder):
    package = folder / "pe_lab"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    git(folder, "init", "-q")
    git(folder, "add", ".")
    return package


def outside(folder):
    folder.mkdir()
    return folder


@pytest.mark.parametrize("place", [installed, untracked, without_commit, outside])
def test_the_commit_of_another_project_is_not_recorded(tmp_path, place):
    assert read(place(tmp_path / "mine")) == (None, None)


REFUSES = """#!/bin/sh
echo "fatal: detected dubious ownership" >&2
exit 128
"""
HANGS = """#!/bin/sh
exec sleep 60
"""
REFUSES_STATUS = """#!/bin/sh
[ "$1" = status ] && exit 1
exec {git} "$@"
"""


@pytest.mark.parametrize("program", [None, "no program", REFUSES, HANGS])
def test_without_an_answer_of_git_the_commit_is_unknown(checkout, tmp_path, monkeypatch, program):
    package, _ = checkout
    folder = tmp_path / "bin"
    folder.mkdir()
    if program is not None:
        (folder / "git").write_text(program)
        (folder / "git").chmod(0o755)
    path = str(folder) if program != HANGS else f"{folder}:{os.environ['PATH']}"
    monkeypatch.setenv("PATH", path)
    monkeypatch.setattr(provenance, "_GIT_SECONDS", 0.2)
    assert read(package) == (None, None)


def test_without_the_status_of_git_the_code_is_not_said_to_be_clean(
    checkout, tmp_path, monkeypatch
):
    package, commit = checkout
    found = subprocess.run(["sh", "-c", "command -v git"], capture_output=True, check=True)
    (tmp_path / "git").write_text(REFUSES_STATUS.format(git=found.stdout.decode().strip()))
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert read(package) == (commit, None)


@pytest.mark.slow
def test_a_record_names_the_start_of_its_training_and_a_failed_one_does_not(tmp_path):
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    loop.train_run_group(tiny.group("rope", seeds=1), tmp_path)
    started = datetime.datetime.fromisoformat(by_seed(tmp_path)[0]["provenance"]["started"])
    assert before <= started <= datetime.datetime.now(datetime.UTC)
    assert started.utcoffset() == datetime.timedelta()
    assert "started" not in provenance.provenance(tiny.run("rope"))
