"""In a terminal lines break between words and tables have its width; a file gets everything."""

import io
import os
import shutil
import sys

import pytest

from pe_lab.runs.system import terminal

TABLE = """\
| variant                      | extrapolates     | solved         | 4     | 8     | →10  | →12  |
|------------------------------|------------------|----------------|-------|-------|------|------|
| rope                         | 0/3 [0.00, 0.56] | 0/3 not solved | 1.00  | 0.998 | 0.99 | 0.85 |
| raw_index · normalize \\| a † | 2/3 [0.21, 0.94] | 2/3            | 0.998 | 0.97  | 0.83 | 0.52 |
| chance level (sees no input) |                  |                | 0.00  | 0.00  | 0.00 | 0.00 |
""".rstrip()
FITTED = """\
variant                   extrapolates  solved      8   →10   →12
-----------------------------------------------------------------
rope                               0/3    0/3*  0.998  0.99  0.85
raw_index · normalize… †           2/3     2/3   0.97  0.83  0.52
chance level (sees no i…                         0.00  0.00  0.00
*: not solved. Left out here: the intervals, column 4."""
PATH = "results/a_study_with_a_long_name/table.md"


class File(io.TextIOWrapper):
    def __init__(self):
        super().__init__(io.BytesIO(), "utf-8")

    def text(self):
        return self.buffer.getvalue().decode()


class Terminal(File):
    def isatty(self):
        return True


def test_a_table_in_a_narrow_terminal_says_what_it_leaves_out():
    assert terminal.fitted(TABLE, 66) == FITTED
    assert terminal.fitted(TABLE, 65) == FITTED  # it has this width
    for width in (76, 84):  # the widths without intervals, with and without short words
        assert "\nchance level (sees no input) " in terminal.fitted(TABLE, width)
    assert terminal.fitted(TABLE, 120) == TABLE
    widest = max(map(len, TABLE.split("\n")))
    assert terminal.fitted(TABLE, widest) == TABLE
    assert terminal.fitted(TABLE, widest - 1) != TABLE


@pytest.mark.parametrize("width", range(40, 120))
def test_no_line_of_a_table_is_wider_than_the_terminal(width):
    assert max(map(len, terminal.fitted(TABLE, width).split("\n"))) <= width


@pytest.mark.parametrize(
    "lines",
    [
        ["|" + "x" * 100],
        ["|" + "-" * 100 + "|"],
        ["|", "| " + "word " * 20],
        ["| " + "word " * 20 + "|", "| a |"],
        ["| a | b |", "|---|---|", "|" + " word" * 20],
    ],
)
def test_lines_that_only_begin_like_a_table_keep_their_words(lines):
    text = "\n".join(lines)
    assert terminal.fitted(text, 40).split() == text.split()


def test_names_that_would_become_equal_are_not_cut():
    rows = [f"| a long name of a variant, number {i} | 0.50 | 0.50 | 0.50 |" for i in range(2)]
    text = terminal.fitted("\n".join(["| variant | 4 | 8 | →10 |", "|-|-|-|-|", *rows]), 44)
    assert "number 0  " in text
    assert "Left out here: columns" in text


@pytest.mark.parametrize(
    ("line", "lines"),
    [
        (f"tables   {PATH}, b.csv", ["tables", f"         {PATH},", "         b.csv"]),
        (f"written {PATH}", ["written", PATH]),
        ("note: one two three four five six seven eight", None),
        ("- one two three four five six seven eight", None),
        ("rope  one two three four five six seven eight", None),
    ],
)
def test_lines_break_between_words_below_their_first_word(line, lines):
    fitted = terminal.fitted(line, 40).split("\n")
    assert " ".join(fitted).split() == line.split()
    if lines:
        assert fitted == lines
    else:
        assert max(map(len, fitted)) <= 40
        assert len(fitted) == 2


def test_a_file_gets_lines_as_they_are_and_a_terminal_colors_unless_it_has_none(monkeypatch):
    monkeypatch.setattr(shutil, "get_terminal_size", lambda: shutil.os.terminal_size((40, 20)))
    monkeypatch.setenv("TERM", "xterm")
    text = "note: " + "word " * 20
    files = [File(), Terminal(), Terminal()]
    for file, has_color in zip(files, (True, True, False), strict=True):
        monkeypatch.setattr(sys, "stdout", file)
        monkeypatch.setenv("NO_COLOR", "" if has_color else "1")
        terminal.show(text)
    plain, colored, without_color = (file.text() for file in files)
    assert plain == f"{text}\n"
    assert colored.startswith("\x1b[33mnote:\x1b[0m word ")
    assert colored.count("\n") > 2
    assert without_color == colored.replace("\x1b[33m", "").replace("\x1b[0m", "")


DOCSTRING = """\
A summary.

Equation: pair m of q and k rotates by p times the frequency of its pair, as in the paper
Beyond training: unseen angles.

A paragraph whose first line ends where the line of a source file ends, 96 characters on,
and whose second line ends early.
It has a third one.

    pe-lab command          # an example of the command, which has its own line, as long
    pe-lab command --flag
"""


def test_a_terminal_breaks_the_paragraphs_of_a_docstring_anew(monkeypatch):
    texts = {}
    monkeypatch.setenv("NO_COLOR", "1")
    for width in (60, 200):
        size = shutil.os.terminal_size((width, 20))
        monkeypatch.setattr(shutil, "get_terminal_size", lambda size=size: size)
        monkeypatch.setattr(sys, "stdout", Terminal())
        terminal.show(DOCSTRING.rstrip(), is_docstring=True)
        texts[width] = sys.stdout.text()
    joined = "96 characters on, and whose second line ends early.\nIt has a third one.\n"
    assert joined in texts[200]
    assert "as in the paper\nBeyond training: unseen angles.\n" in texts[200]
    assert "as long\n    pe-lab command --flag\n" in texts[200]
    assert texts[60].split() == DOCSTRING.split()
    assert "A paragraph whose first line ends where the line of a source\nfile ends" in texts[60]
    assert "on, and whose second line ends\nearly.\n" in texts[60]


@pytest.mark.parametrize("is_error", [False, True])
def test_work_goes_on_when_the_reader_has_closed_the_pipe(is_error, monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stderr" if is_error else "stdout", stream)
        for _ in range(2):
            terminal.show("a line", is_error=is_error)
