"""Frozen sets: equal bytes from any process, whole or not there, and read as what was written."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pe_lab.data import frozen
from pe_lab.runs.errors import UserError

ROOT = Path(__file__).parents[2]
ABOUT = {"task": {"name": "copy"}, "seed": 0, "counts": {"test": {"3": 20}, "validation": {"3": 2}}}


def row(n):
    """Of n tokens; no token at all too."""
    at = np.arange(n, dtype=np.int32)
    return {
        "length": np.asarray(3, np.int32),
        "prompt": {
            "symbols": at,
            "structure": {"grid": np.stack([at, 2 * at], axis=1), "symbols": at > 1},
        },
        "target": {"symbols": at[:1] - 1, "answer": at[:1] < 0},
    }


def rows():
    return {"test": [row(i % 4) for i in range(20)], "validation": [row(0), row(0)]}


def write(folder, name="copy-0", of=None):
    return frozen.write(folder, name, ABOUT, "For a test.", rows() if of is None else of)


def contents(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# Both processes wait for each other before they write, first into one folder, then into their own.
PROGRAM = """
import sys, time
from pathlib import Path
from tests.data.test_frozen import write
folder, me, other = Path(sys.argv[1]), *sys.argv[2:]
(folder / me).touch()
while not (folder / other).exists():
    time.sleep(0.001)
shared = write(folder / "shared")[1]
(folder / me).unlink()
print(shared, write(folder / me / "own")[1])
print("tensorflow" in sys.modules)
"""


@pytest.mark.full
def test_two_processes_at_once_do_no_harm_and_write_equal_bytes_without_tensorflow(tmp_path):
    command = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    started = [
        subprocess.Popen([*command, *names], env=env, stdout=subprocess.PIPE, text=True)
        for names in (("a", "b"), ("b", "a"))
    ]
    said = sorted(process.communicate(timeout=60)[0].split() for process in started)
    assert said == [["False", "True", "False"], ["True", "True", "False"]]
    shared, a, b = (contents(tmp_path / name) for name in ("shared", "a/own", "b/own"))
    assert shared == a == b
    assert len(a) == 5
    assert {p.name for p in (tmp_path / "shared").iterdir()} == {"frozen"}


def test_what_is_read_is_what_was_written_and_any_program_can_read_it(tmp_path):
    found, new = write(tmp_path)
    assert new
    assert (found.path, found.about, found.version) == (
        tmp_path / "frozen" / "copy-0" / "2.0.0",
        ABOUT,
        "2.0.0",
    )
    assert found.sha256 == frozen.content_hash(rows()) == frozen.content_hash(found.rows)
    (again,) = frozen.sets(tmp_path)
    assert again == found
    import tensorflow_datasets as tfds

    builder = tfds.builder_from_directory(found.path)
    assert builder.info.metadata["sha256"] == found.sha256
    assert builder.info.description == "For a test."
    seventh = builder.as_data_source("test")[7]
    assert seventh["prompt"]["structure"]["grid"].tolist() == [[0, 0], [1, 2], [2, 4]]
    assert seventh["prompt"]["structure"]["symbols"].tolist() == [False, False, True]
    assert len(builder.as_data_source("test[:25%]")) == 5


@pytest.mark.slow
def test_written_again_it_is_there_already_and_nothing_is_touched(tmp_path):
    write(tmp_path)
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in tmp_path.rglob("*") if p.is_file()}
    assert not write(tmp_path)[1]
    assert {
        p: (p.stat().st_mtime_ns, p.read_bytes()) for p in tmp_path.rglob("*") if p.is_file()
    } == before


def test_other_examples_under_the_same_name_are_refused(tmp_path):
    write(tmp_path)
    with pytest.raises(
        UserError,
        match=(
            r"holds other examples than the task draws today: move it away, or give another "
            r"--out=FOLDER\.$"
        ),
    ):
        write(tmp_path, of={"test": [row(1)]})


def test_a_process_that_comes_second_takes_what_the_first_has_put_there(tmp_path, monkeypatch):
    """Between the look and the rename another one has finished."""
    prepare = frozen.Frozen.download_and_prepare

    def slow(self, **arguments):
        monkeypatch.setattr(frozen.Frozen, "download_and_prepare", prepare)
        assert write(tmp_path)[1]
        prepare(self, **arguments)

    monkeypatch.setattr(frozen.Frozen, "download_and_prepare", slow)
    found, new = write(tmp_path)
    assert not new
    assert frozen.content_hash(found.rows) == found.sha256
    assert [p.name for p in tmp_path.iterdir()] == ["frozen"]


def test_an_interrupted_write_leaves_nothing(tmp_path, monkeypatch):
    def stopped(self, rows):
        yield 0, rows[0]
        raise KeyboardInterrupt

    monkeypatch.setattr(frozen.Frozen, "_generate_examples", stopped)
    with pytest.raises(KeyboardInterrupt):
        write(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_printed(tmp_path, capfd):
    write(tmp_path)[0].rows  # noqa: B018
    assert capfd.readouterr() == ("", "")


def test_the_hash_is_of_every_value_name_and_place():
    of = frozen.content_hash
    base = of(rows())
    assert of(copy.deepcopy(rows())) == base
    assert of({"validation": rows()["validation"], "test": rows()["test"]}) == base
    changed = [rows() for _ in range(6)]
    changed[0]["test"][3]["prompt"]["symbols"][2] = 9
    changed[1]["test"][3]["prompt"]["structure"]["symbols"][1] ^= True
    changed[2]["test"][0], changed[2]["test"][1] = changed[2]["test"][1], changed[2]["test"][0]
    changed[3]["validation"].pop()
    changed[4]["test"][3]["prompt"]["structure"]["other"] = changed[4]["test"][3]["prompt"][
        "structure"
    ].pop("grid")
    changed[5] = {"test": rows()["test"] + rows()["validation"]}
    assert len({base, *map(of, changed)}) == 7
    one, other = {"a": np.arange(3), "b": np.arange(0)}, {"a": np.arange(0), "b": np.arange(3)}
    assert of({"test": [one]}) != of({"test": [other]})
    assert of({"test": [{"a": np.arange(4)}]}) != of({"test": [{"a": np.arange(4).reshape(2, 2)}]})


def test_a_folder_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(
        UserError,
        match=r"^The folder .*file cannot be written \(.*\)\. Give another: --out=FOLDER\.$",
    ):
        write(tmp_path / "file")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"about": {}}'])
def test_a_set_without_a_description_is_one_sentence(tmp_path, text):
    found, _ = write(tmp_path)
    (found.path / "metadata.json").write_text(text)
    with pytest.raises(UserError, match=rf"^The frozen examples in {found.path} are damaged \("):
        frozen.sets(tmp_path)


def test_a_folder_that_is_not_there_has_no_sets(tmp_path):
    assert frozen.sets(tmp_path / "nowhere") == []
