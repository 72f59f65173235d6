"""A row of the suite as one archive."""

import gzip
import hashlib
import io
import json
import os
import shutil
import zipfile

import pytest

from pe_lab.contrib.grids import bundles, train_rows
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_lines, records
from pe_lab.runs.studies import study_files
from pe_lab.runs.system import files
from tests.results.fake_study import point, record, write_study

BOMB = gzip.compress(b" " * 2_000_000)
LINES = gzip.compress((b" " * 999 + b"\n") * 2000)
CLASS = "from pe_lab.encodings import ALiBi\n\nclass Mine(ALiBi):\n    pass\n"


@pytest.fixture
def row(tmp_path, monkeypatch):
    """A study of one run of a class of another package, and the file of the class."""
    source = tmp_path / "row_module.py"
    source.write_text(CLASS, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    digest = hashlib.sha256(CLASS.encode()).hexdigest()[:16]
    sources = {"encodings/row_module:Mine": digest, "tasks/copy": "0" * 16}
    run = record("r0", test={4: 1.0}, validation={4: 1.0}) | {"provenance": {"sources": sources}}
    return write_study(tmp_path / "row", (point("mine", 0), run)), source


def rewritten(file, changes):
    """An archive with other files; None removes one."""
    with zipfile.ZipFile(file) as archive:
        content = {name: archive.read(name) for name in archive.namelist()} | changes
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, data in content.items():
            if data is not None:
                archive.writestr(name, data)
    file.write_bytes(buffer.getvalue())


def twice(file, changes):
    """An archive with a second file of a name."""
    ((name, data),) = changes.items()
    duplicate = pytest.warns(UserWarning, match="Duplicate name")
    with zipfile.ZipFile(file, "a") as archive, duplicate:
        archive.writestr(name, data)


def with_digests(file, changes):
    """The same, with a manifest that fits."""
    with zipfile.ZipFile(file) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    for name, data in changes.items():
        manifest["files"].pop(name, None)
        if data is not None:
            manifest["files"][name] = hashlib.sha256(data).hexdigest()
    rewritten(file, {**changes, "manifest.json": json.dumps(manifest)})


def test_an_archive_has_the_study_the_records_and_the_class(row, tmp_path):
    folder, _ = row
    file, out = tmp_path / "mine.zip", tmp_path / "out"
    bundles.write(folder, "mine", file)
    assert bundles.unpack(file, out) == "mine"
    assert study_files.read(out) == study_files.read(folder)
    assert records.read_all(out)["r0"]["rows"] == records.read_all(folder)["r0"]["rows"]
    assert (out / "sources" / "row_module.Mine.py").read_text(encoding="utf-8") == CLASS
    again = tmp_path / "again.zip"
    bundles.write(folder, "mine", again)
    assert again.read_bytes() == file.read_bytes()


def test_a_class_that_has_changed_since_the_training_is_not_packed(row, tmp_path):
    folder, source = row
    source.write_text(CLASS + "# another\n", encoding="utf-8")
    with pytest.raises(UserError, match=r"^The file of row_module:Mine is gone or has changed"):
        bundles.write(folder, "mine", tmp_path / "mine.zip")
    assert not (tmp_path / "mine.zip").exists()


@pytest.mark.parametrize(
    ("change", "changes", "sentence"),
    [
        (rewritten, {"study.json": b"{}"}, "is damaged: a file in it does not match its digest"),
        (rewritten, {"sources/row_module.Mine.py": None}, "is damaged: a file in it does not"),
        (with_digests, {"sources/row_module.Mine.py": None}, "lacks the file of encodings/row_mod"),
        (with_digests, {"sources/row_module.Mine.py": b"pass"}, "lacks the file of encodings/row_"),
        (rewritten, {"../evil.py": b"pass"}, "is no archive of `pe-lab suite --bundle` (it has a"),
        (rewritten, {"manifest.json": None}, "is no archive of `pe-lab suite --bundle` ("),
        (
            twice,
            {"study.json": b"{}"},
            "is no archive of `pe-lab suite --bundle` (it has two files of",
        ),
        (
            with_digests,
            {"records.jsonl.gz": BOMB},
            "has no records that can be read (a line has more",
        ),
        (
            with_digests,
            {"records.jsonl.gz": LINES},
            "has no records that can be read (its records ha",
        ),
        (rewritten, {"manifest.json": b"[]"}, "is no archive of `pe-lab suite --bundle` ("),
        (
            rewritten,
            {"manifest.json": b'{"schema_version": 2, "label": "", "files": {}}'},
            "has schema_version 2; this pe_lab reads 1.",
        ),
    ],
)
def test_an_archive_with_other_files_is_refused(
    row, tmp_path, monkeypatch, change, changes, sentence
):
    monkeypatch.setattr(files, "MOST_BYTES", 1_000_000)
    file = tmp_path / "mine.zip"
    bundles.write(row[0], "mine", file)
    change(file, changes)
    with pytest.raises(UserError) as raised:
        bundles.unpack(file, tmp_path / "out")
    assert str(raised.value).startswith(f"{file} {sentence}")


@pytest.mark.parametrize(
    "compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA], ids=["bzip2", "lzma"]
)
@pytest.mark.parametrize("is_damaged", [False, True])
def test_another_compression_is_refused(row, tmp_path, compression, is_damaged):
    file = tmp_path / "mine.zip"
    bundles.write(row[0], "mine", file)
    with zipfile.ZipFile(file) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(file, "w", compression) as archive:
        for name, data in content.items():
            archive.writestr(name, data)
    changed = bytearray(file.read_bytes())
    changed[60] ^= is_damaged
    file.write_bytes(changed)
    with pytest.raises(UserError, match=r"is no archive of `pe-lab suite --bundle` \("):
        bundles.unpack(file, tmp_path / "out")


CHANGED = {"sources": {"encodings/row_module:Mine": "1" * 16}}
TWO_VERSIONS = "has runs of two versions of encodings/row_module:Mine: train all"


@pytest.mark.parametrize(
    ("provenance", "sentence"),
    [
        (CHANGED, TWO_VERSIONS),
        ({}, "has the run r1, whose sources are unknown."),
        ({"sources": None}, None),
        ({"sources": {"encodings/row_module:Mine": None}}, None),
        ({"sources": [1]}, "the sources of its provenance are not digests"),
        ({"sources": {"encodings/row_module:Mine": 5}}, "the sources of its provenance are not"),
    ],
)
@pytest.mark.parametrize("is_last", [False, True])
def test_all_runs_of_a_row_have_one_version_of_a_class(
    row, tmp_path, provenance, sentence, is_last
):
    folder, _ = row
    file, changed = tmp_path / "mine.zip", tmp_path / "changed"
    bundles.write(folder, "mine", file)
    known = records.read_all(folder)["r0"]
    other = {**known, "run_id": "r1", "provenance": provenance}
    other["digest"] = records.digest(other)
    if not is_last:
        known, other = other | {"run_id": "r0"}, known | {"run_id": "r1"}
        sentence = sentence and sentence.replace("r1", "r0")
    lines = [record_lines.line(each) for each in (known, other)]
    packed = gzip.compress("".join(lines).encode())
    files.write_bytes(changed / records.ARCHIVE, packed)
    (changed / "study.json").write_bytes((folder / "study.json").read_bytes())
    with_digests(file, {records.ARCHIVE: packed})
    if sentence is None:
        assert bundles.unpack(file, tmp_path / "out") == "mine"
        bundles.write(changed, "mine", tmp_path / "again.zip")
        return
    with pytest.raises(UserError) as raised:
        bundles.unpack(file, tmp_path / "out")
    assert sentence in str(raised.value)
    with pytest.raises(UserError) as raised:
        bundles.write(changed, "mine", tmp_path / "again.zip")
    assert sentence in str(raised.value)


@pytest.mark.slow
def test_no_changed_byte_of_an_archive_changes_what_is_unpacked(row, tmp_path):
    file, out = tmp_path / "mine.zip", tmp_path / "out"
    bundles.write(row[0], "mine", file)
    packed = file.read_bytes()
    bundles.unpack(file, out)
    content = {path.name: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    refusals = []
    for index in range(len(packed)):
        changed = bytearray(packed)
        changed[index] ^= 1
        file.write_bytes(changed)
        shutil.rmtree(out, ignore_errors=True)
        try:
            label = bundles.unpack(file, out)
        except UserError as e:
            refusals.append((str(e).count("\n"), out.exists()))
        else:  # a time or a right of a file, which nothing reads
            assert label == "mine"
            assert {path.name: path.read_bytes() for path in out.rglob("*.*")} == content
    assert set(refusals) == {(0, False)}  # one sentence, and no file
    assert len(refusals) > 0.7 * len(packed)


@pytest.mark.parametrize(
    "label", ["", ".", "..", "../x", "a/b", "a\\b", "a\x1b[2J", "a\n", "a" * 201]
)
def test_a_label_is_one_part_of_a_path(row, tmp_path, label):
    with pytest.raises(UserError, match="the name of a row"):
        bundles.write(row[0], label, tmp_path / "mine.zip")
    file = tmp_path / "other.zip"
    bundles.write(row[0], "mine", file)
    with zipfile.ZipFile(file) as archive:
        manifest = json.loads(archive.read("manifest.json"))
    rewritten(file, {"manifest.json": json.dumps({**manifest, "label": label})})
    with pytest.raises(UserError, match="the name of a row"):
        bundles.unpack(file, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("label", ["+", "___", "..+"])
def test_a_label_without_a_folder_is_refused(label):
    with pytest.raises(UserError, match="is not the name of a row"):
        train_rows.folder_name(label)


def test_a_full_disk_leaves_the_bundle_of_before(row, tmp_path, monkeypatch):
    file = tmp_path / "mine.zip"
    bundles.write(row[0], "mine", file)
    before = file.read_bytes()

    def fails(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OSError, match="no space left"):
        bundles.write(row[0], "another", file)
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"mine.zip", "row", "row_module.py"}


def test_what_is_no_archive_is_refused(tmp_path):
    (tmp_path / "mine.zip").write_text("no", encoding="utf-8")
    for name in ("mine.zip", "nowhere.zip"):
        with pytest.raises(UserError, match=r"is no archive of `pe-lab suite --bundle` \("):
            bundles.unpack(tmp_path / name, tmp_path / "out")
