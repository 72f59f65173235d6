"""`make test-changed` selects the tests of the changed rooms, and those that import the files."""

import subprocess

import pytest

from tests.changed import changed_files, selected_tests


@pytest.mark.parametrize(
    ("path", "selected", "left_out"),
    [
        (
            "pe_lab/metrics/exact_match.py",
            "tests/metrics/test_laws.py",
            "tests/encodings/test_laws.py",
        ),
        ("pe_lab/positions/grid.py", "tests/positions/test_laws.py", "tests/tasks/test_laws.py"),
        (
            "pe_lab/encodings/alibi.py",
            "tests/model/test_transformer.py",
            "tests/tasks/test_laws.py",
        ),
        ("pe_lab/contrib/rope/cli/rope.py", "tests/contrib/rope/", "tests/contrib/report/"),
        ("tests/models.py", "tests/model/test_forward.py", "tests/tasks/test_laws.py"),
        (
            "tests/positions/test_laws.py",
            "tests/positions/test_laws.py",
            "tests/positions/test_grid.py",
        ),
        ("configs/quickstart.py", "tests/test_studies.py", "tests/tasks/test_laws.py"),
        ("README.md", "tests/test_readme.py", "tests/tasks/test_laws.py"),
    ],
)
def test_a_file_selects_its_room_and_the_tests_that_import_it(path, selected, left_out):
    tests = selected_tests([path])
    assert any(test.startswith(selected) for test in tests)
    assert not any(test.startswith(left_out) for test in tests)


def test_nothing_is_selected_where_nothing_changed():
    assert selected_tests([]) == []


def test_changes_are_committed_ones_uncommitted_ones_and_new_files(tmp_path):
    def git(*command):
        identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", str(tmp_path), *identity, *command], check=True)

    def commit(name):
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "-q", "-m", name)

    git("init", "-q", "-b", "main")
    commit("old.py")
    git("checkout", "-q", "-b", "feature")
    commit("committed.py")
    git("checkout", "-q", "main")
    commit("of_main.py")
    git("checkout", "-q", "feature")
    (tmp_path / "old.py").write_text("changed")
    (tmp_path / "new.py").write_text("new")
    assert changed_files("main", tmp_path) == ["committed.py", "new.py", "old.py"]
