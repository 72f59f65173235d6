"""`pe-lab text` prepares a corpus and describes it."""

import io
import subprocess
import tarfile

import pytest

from pe_lab.contrib.text import packages
from pe_lab.contrib.text.cli import text as command
from pe_lab.data import text as corpora
from pe_lab.runs.errors import UserError

HASH = "sha256:" + 64 * "0"


def options(source, tmp_path, **changes):
    return command.Options(source=str(source), data_dir=tmp_path / "sets", **changes)


def test_a_folder_is_prepared_and_described(tmp_path, capsys):
    for i in range(30):
        (tmp_path / f"{i}.md").write_text(f"number {i} " * (1 + i % 2))
    assert command.run(options(tmp_path, tmp_path, longer_than=12)) == 0
    first, train, *others = capsys.readouterr().out.splitlines()
    name = first.removeprefix("dataset=").strip("'")
    assert (tmp_path / "sets" / name).exists()
    assert train.startswith("train: 24 documents, ")
    assert "12 bytes; 'number " in train
    assert [line.partition(":")[0] for line in others] == ["validation", "test"]
    command.run(options(name, tmp_path, longer_than=12))  # by its name
    assert capsys.readouterr().out.splitlines() == [first, train, *others]


def test_a_field_of_plain_text_is_refused(tmp_path):
    """Lines of JSON with another ending would be one document."""
    (tmp_path / "web.json").write_text('{"text": "yes"}\n')
    for source in (tmp_path, tmp_path / "web.json"):
        with pytest.raises(UserError, match=r"^--field is of files NAME\.jsonl .*: .* has none\.$"):
            command.run(options(source, tmp_path, field="text"))
    (tmp_path / "web.jsonl").write_text("".join(f'{{"text": "yes {i}"}}\n' for i in range(30)))
    assert command.run(options(tmp_path / "web.jsonl", tmp_path, field="text")) == 0


def test_the_field_of_a_data_set_with_several_texts_is_described(tmp_path, capsys):
    rows = {s: [{"de": b"ja", "en": b"yes"}] for s in ("train", "validation", "test")}
    name = corpora.prepare(rows, tmp_path / "sets")
    command.run(options(name, tmp_path, field="en"))
    assert "train: 1 documents, 3 bytes; 0 documents of more than 2,048 bytes; 'yes'" in (
        capsys.readouterr().out
    )
    with pytest.raises(UserError, match="has no 'fr'"):
        command.run(options(name, tmp_path, field="fr"))


@pytest.fixture
def pip(monkeypatch):
    """A pip that writes an archive of three files."""
    calls = []

    def run(arguments, **_):
        calls.append(arguments)
        folder = arguments[-1].removeprefix("--dest=")
        with tarfile.open(f"{folder}/p-1.tar.gz", "w:gz") as archive:
            for path in ("p-1/docs/a.txt", "p-1/docs/deep/b.txt", "p-1/setup.py"):
                member = tarfile.TarInfo(path)
                member.size = len(path)
                archive.addfile(member, io.BytesIO(path.encode()))
        return subprocess.CompletedProcess(arguments, 0, "", "")

    monkeypatch.setattr(packages.subprocess, "run", run)
    return calls


def test_matching_files_of_a_package_are_extracted_and_pip_checks_the_hash(tmp_path, pip):
    packages.download("p==1", HASH, ["docs/*.txt"], tmp_path)
    found = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*t"))
    assert found == ["p-1/docs/a.txt", "p-1/docs/deep/b.txt"]
    assert "--require-hashes" in pip[0]


@pytest.mark.parametrize(
    ("source", "changes", "why"),
    [
        ("p==1", {}, "p==1 needs --hash=sha256:"),
        ("p==1", {"hash": "sha256:12"}, "p==1 needs --hash=sha256:"),
        ("p==1", {"hash": HASH, "include": ("*.rst",)}, r"p-1.tar.gz has no file like \*.rst"),
        ("folder", {"hash": HASH}, "--hash and --include are of a package"),
        ("nothing", {}, "has no 'nothing'"),
        ("no.txt", {}, r"^There is no file or folder of text at no\.txt\.$"),
        ("./no", {}, r"^There is no file or folder of text at no\.$"),
        ("no/", {}, r"^There is no file or folder of text at no\.$"),
        ("no:1", {}, r"^'no:1' is not the name of a data set, such as lm1b or wiki40b/en:1\.3\.0"),
        ("wiki40b/en:1.3.0", {}, r"sets has no 'wiki40b/en:1\.3\.0'"),
        ("", {}, r"^A path is empty: name a file or a folder, or . for the working directory"),
        ("stories", {"named": True}, "--named is of a folder: a data set has its own splits"),
    ],
)
def test_refusals_are_one_sentence(tmp_path, pip, source, changes, why):
    with pytest.raises(UserError, match=why):
        command.run(options(source, tmp_path, **changes))


def test_an_error_of_pip_is_one_sentence(tmp_path, monkeypatch):
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: hashes\nDO NOT MATCH")
    monkeypatch.setattr(packages.subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(UserError, match=r"pip cannot download p==1: ERROR: hashes DO NOT MATCH\."):
        packages.download("p==1", HASH, ["*"], tmp_path)


def archive_of(path):
    """The bytes of an archive of one file."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo(path))
    return content.getvalue()


def extractall_of_python_3_11_0(self, path=".", members=None, *, numeric_owner=False):
    """Without a filter."""


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no archive", "cannot be extracted: "),
        (archive_of("p-1/a")[:30], "cannot be extracted: "),
        (archive_of("p-1/../../a"), "cannot be extracted: .*outside the destination"),
        (archive_of("p-1/a"), "cannot be extracted: .*unexpected keyword argument 'filter'"),
    ],
    ids=["no archive", "cut off", "outside", "no filter"],
)
def test_an_archive_that_cannot_be_extracted_is_one_sentence(tmp_path, monkeypatch, content, why):
    (tmp_path / "p-1.tar.gz").write_bytes(content)
    monkeypatch.setattr(packages, "_archive", lambda *_: tmp_path / "p-1.tar.gz")
    if "filter" in why:
        monkeypatch.setattr(tarfile.TarFile, "extractall", extractall_of_python_3_11_0)
    with pytest.raises(UserError, match=f"p-1.tar.gz {why}"):
        packages.download("p==1", HASH, ["*"], tmp_path / "folder")
