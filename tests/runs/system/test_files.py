"""Names that become paths, and texts that reach a terminal."""

import os
import subprocess
import time

import pytest

from pe_lab.runs import errors
from pe_lab.runs.errors import UserError
from pe_lab.runs.settings import labels
from pe_lab.runs.studies import study_files
from pe_lab.runs.system import files, texts


def content(folder):
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.parametrize(
    "name", ["", ".", "..", ".x", "a/b", "a\\b", "a\0", "a\n", "\x1b", "\udcff"]
)
def test_a_name_is_one_part_of_a_path(name):
    with pytest.raises(UserError, match=r"is not the name of a run\.$"):
        files.plain_name(name, "a run")


def test_a_name_fits_into_a_file_system():
    assert files.plain_name("ä" * 100, "a run") == "ä" * 100
    with pytest.raises(UserError, match="is too long for the name of a run"):
        files.plain_name("ä" * 101, "a run")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("naïve 1\u00a0000 · 語 😀", "naïve 1\u00a0000 · 語 😀"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\nb\u2028c", r"a\nb\u2028c"),
        ("\x9b31m \u202e \udcff", r"\x9b31m \u202e \udcff"),
    ],
)
def test_a_terminal_gets_no_control_character(text, shown):
    assert texts.printable(text) == shown
    assert texts.printable_values([{"a": (text, 1)}]) == [{"a": [shown, 1]}]
    assert labels.label({"name": "copy", "separator": text}) == f"copy(separator={shown})"
    assert errors.shortened(text) == (shown if "\n" not in text else "a\nb\\u2028c")
    line = " ".join(text.split())  # of all white space
    assert errors.one_line(ValueError(f"no {text}")) == f"no {texts.printable(line)}"


@pytest.mark.parametrize("text", ["a\n", "\x1b[2J", "\udcff"])
@pytest.mark.parametrize("where", ["name", "axis", "label", "title"])
def test_a_study_has_no_control_character(tmp_path, text, where):
    given = {key: text if key == where else key for key in ("name", "axis", "label", "title")}
    entries = [({given["axis"]: given["label"]}, "r0")]
    spec = {"tables": ({"title": given["title"]},)}
    with pytest.raises(UserError, match=r"^The study '.*' cannot be written: "):
        study_files.write(tmp_path, given["name"], entries, spec)
    assert list(tmp_path.iterdir()) == []


def test_what_a_killed_process_left_is_removed(tmp_path):
    with subprocess.Popen(["true"]) as ended:
        pass
    (tmp_path / "records").mkdir()
    stays = [".table.md.damaged-1", f".table.md.{os.getpid()}.1.pe_lab", "a.5.5"]
    stays.append(f".notes.{ended.pid}.31")  # of the user
    goes = [f".table.md.{ended.pid}.140.pe_lab", f"records/.r0.json.{ended.pid}.1.pe_lab"]
    for name in (*stays, *goes):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (0, 0))
    remains = []  # of another machine, perhaps, with a slow disk or another clock
    for age in (-600, 0, 60, 3000):
        new = tmp_path / f".table.csv.{ended.pid}.{age + 1000}.pe_lab"
        new.touch()
        os.utime(new, (time.time() - age,) * 2)
        remains.append(new.name)
    files.remove_remains(tmp_path)
    assert sorted(content(tmp_path)) == sorted([*stays, *remains])
    files.remove_remains(tmp_path / "nowhere")


def test_a_log_is_no_link_to_a_file_of_the_user(tmp_path):
    precious, log = tmp_path / "precious", tmp_path / "logs" / "of a run" / "a.log"
    precious.write_text("precious")
    with files.append_to(log, empty=True) as file:
        file.write("one")
    with files.append_to(log) as file:
        file.write("two")
    assert log.read_text() == "onetwo"
    log.unlink()
    log.symlink_to(precious)
    with pytest.raises(OSError, match="symbolic links"):
        files.append_to(log, empty=True)
    assert precious.read_text() == "precious"
