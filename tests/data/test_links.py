"""Links in folders of text, and folders that cannot be read."""

from pathlib import Path

import pytest

from pe_lab.data import sources
from pe_lab.runs.errors import UserError
from tests.data.test_text import write


@pytest.mark.parametrize(
    ("link", "splits"), [("train.txt", "named"), ("test/1", "named"), ("other", None)]
)
def test_a_link_to_nothing_is_refused_and_a_hidden_one_is_not_read(tmp_path, link, splits):
    files = {"train/1": "a", "valid.txt": "b", "test/2": "c"}
    write(tmp_path, files)
    (tmp_path / ".hidden").symlink_to(tmp_path / "nothing")
    assert len(sources.documents(tmp_path, splits=splits)) == 3
    (tmp_path / link).symlink_to(tmp_path / "nothing")
    message = f"^There is no file or folder of text at {tmp_path / link}.$"
    with pytest.raises(UserError, match=message):
        sources.documents(tmp_path, splits=splits)


def test_a_link_to_a_folder_is_followed_and_each_folder_is_read_once(tmp_path):
    write(tmp_path / "elsewhere", {"1": "c", "deep/2": "d", ".git/3": "e"})
    folder = write(tmp_path / "notes", {"a": "a", "inside/b": "b"})
    targets = {"below": "../elsewhere", "loop": ".", "top": "..", "again": "../elsewhere/deep"}
    for link, target in {**targets, "Inside": "inside", ".hidden": "../elsewhere/.git"}.items():
        (folder / link).symlink_to(target)
    files = [file.relative_to(folder).as_posix() for file in sources.files_of(folder)]
    assert files == ["a", "again/2", "below/1", "inside/b"]
    rows = sources.documents(folder)
    assert sorted(row["text"] for split in rows.values() for row in split) == [*b"a b c d".split()]


def test_a_folder_that_cannot_be_read_is_no_empty_one(tmp_path, monkeypatch):
    write(tmp_path, {"1": "a", "2": "b", "3": "c", "deep/4": "d"})
    iterdir = Path.iterdir

    def refuse(folder):
        if folder.name == "deep":
            raise PermissionError(13, "Permission denied", str(folder))
        return iterdir(folder)

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(UserError, match=r"cannot be read \(.*Permission denied: '.*/deep'\)"):
        sources.documents(tmp_path)


def test_what_is_no_file_is_not_called_a_folder():
    with pytest.raises(UserError, match=r"^The file /dev/null holds no text\.$"):
        sources.documents(Path("/dev/null"))
