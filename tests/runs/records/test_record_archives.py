"""An archive holds the records of a folder in one file."""

import gzip
import os
import tracemalloc

import pytest

from pe_lab.runs.records import records
from pe_lab.runs.system import files as record_files
from tests.runs.records.small_records import files, record


def _archived(folder, *run_ids):
    for run_id in run_ids:
        records.write(folder, record(run_id, member={"seed": ord(run_id)}))
    by_id = records.read_all(folder)
    (folder / "published").mkdir()
    return by_id, records.write_archive(folder / "published", reversed(by_id.values()))


def test_an_archive_is_read_like_the_folder_of_its_records(tmp_path):
    by_id, path = _archived(tmp_path, "b", "a")
    assert path == tmp_path / "published" / "records.jsonl.gz"
    assert records.read_all(path.parent) == by_id
    assert list(records.read_all(path.parent)) == ["a", "b"]
    assert records.read_run(path.parent, "a") == by_id["a"]
    assert records.read_run(path.parent, "c") is None
    assert records.exist(path.parent)
    assert not records.exist(path.parent.parent / "other")


def test_the_same_records_give_the_same_archive(tmp_path):
    by_id, path = _archived(tmp_path, "b", "a")
    before = path.read_bytes()
    records.write_archive(path.parent, by_id.values())
    assert path.read_bytes() == before
    assert before[4:8] == bytes(4)  # the time of a gzip file


def test_a_record_file_replaces_the_record_of_the_archive(tmp_path):
    _, path = _archived(tmp_path, "b", "a")
    records.write(path.parent, record("a", status="failed"))
    statuses = {run_id: r["status"] for run_id, r in records.read_all(path.parent).items()}
    assert statuses == {"a": "failed", "b": "finished"}
    assert records.read_run(path.parent, "a")["status"] == "failed"


def test_a_damaged_archive_is_refused(tmp_path):
    _, path = _archived(tmp_path, "b", "a")
    intact = path.read_bytes()
    path.write_bytes(intact[:-20])
    with pytest.raises(
        records.DamagedRecord, match=r"records\.jsonl\.gz are damaged .* Restore the file"
    ):
        records.read_all(path.parent)
    changed = gzip.decompress(intact).replace(b'"finished"', b'"diverged"', 1)
    path.write_bytes(gzip.compress(changed))
    with pytest.raises(records.DamagedRecord, match="its content does not match its digest"):
        records.read_all(path.parent)


@pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["no bytes", "no records"])
def test_an_empty_archive_is_damaged_and_does_not_read_as_no_records(tmp_path, content):
    _, path = _archived(tmp_path, "a")
    path.write_bytes(content)
    with pytest.raises(
        records.DamagedRecord, match=r"are damaged \(it is empty\)\. Restore the file"
    ):
        records.read_all(path.parent)


def test_two_archives_in_one_file_do_not_count_a_run_twice(tmp_path):
    _, path = _archived(tmp_path, "b", "a")
    path.write_bytes(path.read_bytes() * 2)
    for read in (records.read_all, records.read_intact, lambda folder: list(records.each(folder))):
        with pytest.raises(records.DamagedRecord, match=r"\(it has two records of the run a\)"):
            read(path.parent)
    with pytest.raises(records.DamagedRecord, match="it has two records of the run a"):
        records.read_run(path.parent, "b")


def test_a_line_that_fills_the_memory_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(record_files, "MOST_BYTES", 1 << 20)
    folder = tmp_path / "published"
    folder.mkdir()
    (folder / records.ARCHIVE).write_bytes(gzip.compress(b" " * (1 << 26), compresslevel=1))
    tracemalloc.start()
    with pytest.raises(records.DamagedRecord, match=r"\(a line has more than 1,048,576 bytes\)"):
        records.read_all(folder)
    assert tracemalloc.get_traced_memory()[1] < 1 << 23
    tracemalloc.stop()
    path = records.write(tmp_path, record("a"))
    path.write_bytes(path.read_bytes() + b" " * (1 << 20))
    with pytest.raises(records.DamagedRecord, match=r"\(it has more than 1,048,576 bytes\)"):
        records.read(path)


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_archive(tmp_path, monkeypatch, where):
    by_id, path = _archived(tmp_path, "b", "a")
    before = path.read_bytes()

    def fails(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, where, fails)
    with pytest.raises(OSError, match="no space left"):
        records.write_archive(path.parent, [by_id["a"]])
    assert (files(path.parent), path.read_bytes()) == (["records.jsonl.gz"], before)


def test_a_damaged_file_hides_the_older_record_of_the_archive(tmp_path):
    _, path = _archived(tmp_path, "b", "a")
    records.write(path.parent, record("a", status="failed")).write_text("{")
    by_id, damaged = records.read_intact(path.parent)
    assert (list(by_id), [file.stem for file in damaged]) == (["b"], ["a"])
