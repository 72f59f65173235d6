import pytest

from pe_lab.runs.errors import one_line, unknown


@pytest.mark.parametrize(
    ("name", "names", "sentence"),
    [
        (
            "ropee",
            ["rope", "alibi"],
            "pe_lab/encodings has no 'ropee'. Did you mean 'rope'? It has: alibi, rope.",
        ),
        ("zzz", ["rope", "alibi"], "pe_lab/encodings has no 'zzz'. It has: alibi, rope."),
        ("rope", [], "pe_lab/encodings has no 'rope'. It has: nothing."),
    ],
)
def test_an_unknown_name_is_answered_with_the_near_name_and_all_names(name, names, sentence):
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
