import pytest

from pe_lab.contrib.text.data import aligned_files
from pe_lab.runs.errors import UserError
from tests.data.test_text import SPLITS, write


def pairs_of(rows):
    return sorted(
        (row["source"].decode(), row["target"].decode())
        for of_split in rows.values()
        for row in of_split
    )


def test_lines_are_paired_once_and_those_with_an_empty_side_are_left_out(tmp_path):
    write(
        tmp_path,
        {"de": "eins\nzwei\n\ndrei\neins\nvier\n", "en": "one\ntwo\nnothing\n\none\r\nfour"},
    )
    rows = aligned_files.pairs(str(tmp_path / "de"), str(tmp_path / "en"))
    assert pairs_of(rows) == [("eins", "one"), ("vier", "four"), ("zwei", "two")]
    assert [len(rows[split]) for split in SPLITS] == [1, 1, 1]


def test_a_line_ends_in_a_line_feed_alone_and_a_byte_order_mark_is_no_text(tmp_path):
    """Other line breaks within a line would move the pairs after them."""
    write(
        tmp_path, {"de": "\ufeffeins\nzwei\rdrei\nvier\n", "en": "one\r\ntwo\x0bthree\r\nfour\r\n"}
    )
    rows = aligned_files.pairs(str(tmp_path / "de"), str(tmp_path / "en"))
    assert pairs_of(rows) == [("eins", "one"), ("vier", "four"), ("zwei\rdrei", "two\x0bthree")]


def test_a_folder_gives_the_files_of_both_endings_and_one_source_stands_in_one_split(tmp_path):
    files = {
        "a.de": "eins\nzwei\ndrei",
        "a.en": "one\ntwo\nthree",
        "b/c.de": "eins\nvier",
        "b/c.en": "a\nfour",
        "other.fr": "un",
    }
    rows = aligned_files.pairs("de", "en", write(tmp_path, files))
    assert pairs_of(rows) == [
        ("drei", "three"),
        ("eins", "a"),
        ("eins", "one"),
        ("vier", "four"),
        ("zwei", "two"),
    ]
    assert any(
        {row["target"] for row in of_split if row["source"] == b"eins"} == {b"one", b"a"}
        for of_split in rows.values()
    )


def test_a_folder_has_no_hidden_files_and_a_name_no_pattern(tmp_path):
    files = {"a.de": "1\n2\n3", "a.en": "1\n2\n3", ".git/b.de": "4", ".c.de": "5", "e.de/f": "6"}
    rows = aligned_files.pairs("de", "en", write(tmp_path, files))
    assert pairs_of(rows) == [("1", "1"), ("2", "2"), ("3", "3")]
    for source in ("*", "**", "[d]e"):
        with pytest.raises(UserError, match="holds no files NAME"):
            aligned_files.pairs(source, "en", tmp_path)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (
            {"a.de": "1\n2\n3", "a.en": "1\n2"},
            r"a.de has 3 lines and .*a.en has 2: aligned files have equally many",
        ),
        ({"a.de": "1\n2\n3"}, r"The text .*a.en cannot be read \(.*No such file"),
        ({"a.en": "1\n2\n3"}, r"holds no files NAME.de and NAME.en"),
        (
            {"a.de": "1\n\n3", "a.en": "1\n2\n3"},
            "2 different pairs: train, validation and test need at least one each",
        ),
        (
            {"a.de": b"1\n2\n\xc3", "a.en": "1\n2\n3"},
            "a.de is not valid UTF-8 \\(invalid byte at offset 4\\)",
        ),
    ],
)
def test_bad_pairs_are_one_sentence(tmp_path, files, why):
    with pytest.raises(UserError, match=why):
        aligned_files.pairs("de", "en", write(tmp_path, files))
