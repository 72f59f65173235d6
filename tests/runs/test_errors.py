import pytest

from pe_lab.runs.errors import one_line, shortened, unknown


@pytest.mark.parametrize(
    ("name", "names", "sentence"),
    [
        (
            "ropee",
            ["rope", "alibi"],
            "pe_lab/encodings has no 'ropee'. Did you mean 'rope'? It has: alibi, rope.",
        ),
        ("ropee", ["rope", *"abcdefgh"], "pe_lab/encodings has no 'ropee'. Did you mean 'rope'?"),
        ("zzz", ["rope", "alibi"], "pe_lab/encodings has no 'zzz'. It has: alibi, rope."),
        ("rope", [], "pe_lab/encodings has no 'rope'. It has: nothing."),
    ],
)
def test_an_unknown_name_is_answered_with_the_near_name_or_all_names(name, names, sentence):
    assert str(unknown("pe_lab/encodings", name, names)) == sentence


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("shapes differ:\n  got   [3]\n"), "shapes differ: got [3]"),
        (RuntimeError(), "RuntimeError"),
        (RuntimeError(" \n"), "RuntimeError"),
    ],
)
def test_any_exception_reads_as_one_line(error, line):
    assert one_line(error) == line


def test_the_near_name_is_found_whatever_its_case():
    assert "Did you mean 'rope'?" in str(unknown("pe_lab/encodings", "RoPE", ["alibi", "rope"]))


@pytest.mark.parametrize(
    ("message", "short"),
    [
        ("got " + "(" * 5000, "got " + "(" * 200 + "…"),
        ("x is " + "a" * 200 + ".", "x is " + "a" * 199 + "a…"),
        ("a b " * 5000, ("a b " * 500) + "…"),
        ("no examples of length 4", "no examples of length 4"),
    ],
)
def test_long_texts_of_a_user_are_cut(message, short):
    assert shortened(message) == short
