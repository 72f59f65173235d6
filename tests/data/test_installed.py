import gzip
import struct

import pytest

from pe_lab.data import installed, text
from pe_lab.runs.errors import UserError

LONG = "A licence of more than five hundred bytes. " * 20


def catalogue(messages, order="<"):
    """The bytes of a .mo file."""
    both = [[m.encode() for m in side] for side in zip(*sorted(messages.items()), strict=True)]
    tables, strings, place = [], b"", 28 + 16 * len(messages)
    for side in both:
        for message in side:
            tables.append(struct.pack(f"{order}2I", len(message), place + len(strings)))
            strings += message + b"\0"
    n = len(messages)
    return (
        struct.pack(f"{order}7I", 0x950412DE, 0, n, 28, 28 + 8 * n, 0, 0)
        + b"".join(tables)
        + strings
    )


@pytest.fixture
def system(tmp_path, monkeypatch):
    """What packages of a system share; of Python's own part a little."""
    monkeypatch.setattr(installed, "_MOST", 20_000)
    files = {
        "common-licenses/GPL": LONG + "1",
        "doc/one/copyright": LONG + "2",
        "doc/one/README.gz": gzip.compress((LONG + "3").encode()),
        "doc/two/copyright": LONG + "2",
        "doc/two/short": "a few bytes",
        "doc/two/picture": b"\x89PNG\xff" * 200,
        "doc/two/broken.gz": b"no gzip" * 100,
        "man/man1/ls.1.gz": gzip.compress((".TH LS 1\n" + LONG + "é").encode()),
        "locale/de/LC_MESSAGES/ls.mo": catalogue(
            {"": "Content-Type: charset=UTF-8\n", "file": "Datei", "a\nb": "c\nd", "none": ""}
        ),
        "locale/de/LC_MESSAGES/cp.mo": catalogue(
            {"verb\4copy": "kopieren", "%d file\0%d files": "%d Datei\0%d Dateien"}, ">"
        ),
        "locale/de/LC_MESSAGES/broken.mo": b"\xde\x12\x04\x95\0\0\0\0\xff\xff",
        "locale/pt_BR/LC_MESSAGES/ls.mo": catalogue({"file": "arquivo"}),
    }
    for name, content in files.items():
        file = tmp_path / "share" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path / "share"


def test_notes_and_manuals_are_unpacked_once_and_what_is_no_text_is_left_out(system, tmp_path):
    folder = installed.text(tmp_path, system)
    assert folder == tmp_path / "installed" / "text"
    assert sorted(f.read_text()[-1] for f in (folder / "notes").iterdir()) == ["1", "2", "3"]
    assert [(f.name, f.read_text()[:8]) for f in (folder / "manuals").iterdir()] == [
        ("man_man1_ls.1.gz", ".TH LS 1")
    ]


@pytest.mark.full
def test_a_system_with_python_alone_has_text_for_every_split(tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "_MOST", 300_000)
    folder = installed.text(tmp_path, tmp_path / "nothing")
    assert sorted(f.name for f in folder.iterdir()) == ["docstrings", "packages"]
    sizes = [f.stat().st_size for f in folder.glob("*/*")]
    assert 400_000 < sum(sizes) <= 600_000
    assert (min(sizes) >= 500, max(sizes) <= 60_000) == (True, True)
    assert {split: len(rows) > 2 for split, rows in text.documents(folder).items()} == {
        "train": True,
        "validation": True,
        "test": True,
    }


def test_of_a_long_document_the_lines_are_taken_that_fit(system, tmp_path, monkeypatch):
    monkeypatch.setattr(installed, "_MOST", 70_000)
    (system / "doc" / "one" / "copyright").write_text("1234567 é\n" * 10_000)
    assert (
        max(f.stat().st_size for f in (installed.text(tmp_path, system) / "notes").iterdir())
        == 60_000 // 11 * 11
    )


def test_messages_of_one_line_are_paired_with_their_translations(system, tmp_path):
    folder = installed.catalogues("de", tmp_path, system)
    assert sorted(f.name for f in folder.iterdir()) == [
        f"{n}-de.{e}" for n in ("broken", "cp", "ls") for e in ("de", "en")
    ]
    assert (folder / "ls-de.en").read_text() == "file\n"
    assert (folder / "ls-de.de").read_text() == "Datei\n"
    assert (folder / "cp-de.en").read_text() == "%d file\ncopy\n"
    assert (folder / "cp-de.de").read_text() == "%d Datei\nkopieren\n"
    assert {len(rows) for rows in text.pairs("en", "de", folder).values()} == {1}


def test_regions_stand_in_for_a_language_and_a_missing_one_is_one_sentence(system, tmp_path):
    assert (installed.catalogues("pt", tmp_path, system) / "ls-pt_BR.pt").read_text() == "arquivo\n"
    with pytest.raises(
        UserError, match=r"catalogues of messages .* has no 'xx'\. .*It has: .*de, "
    ):
        installed.catalogues("xx", tmp_path, system)


def test_what_is_extracted_stays_as_it_is_and_is_not_looked_for_again(
    system, tmp_path, monkeypatch
):
    folder = installed.text(tmp_path, system)
    assert [path.name for path in folder.parent.iterdir()] == ["text"]
    monkeypatch.setattr(installed, "_some", lambda found: pytest.fail("it looks again"))
    assert installed.text(tmp_path, system) == folder


def test_the_later_of_two_that_extract_at_once_leaves_the_first_ones(system, tmp_path, monkeypatch):
    some = installed._some

    def overtaken(found):
        yield from some(found)
        (tmp_path / "installed" / "text").mkdir(exist_ok=True)
        (tmp_path / "installed" / "text" / "mark").touch()

    monkeypatch.setattr(installed, "_some", overtaken)
    assert [path.name for path in installed.text(tmp_path, system).iterdir()] == ["mark"]
    assert [path.name for path in (tmp_path / "installed").iterdir()] == ["text"]


def test_a_folder_that_cannot_be_written_is_one_sentence(system, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(UserError, match=r"cannot be written .*: data_dir=FOLDER names another"):
        installed.text(tmp_path / "file", system)
