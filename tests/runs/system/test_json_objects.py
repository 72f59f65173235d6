"""JSON objects of files: what is read exactly, and what is refused."""

import pytest

from pe_lab.runs.system import files


def test_whole_numbers_of_any_size_stay_exact():
    text = '{"flops": 123456789012345678901234567890}'
    assert files.object_of(text) == {"flops": 123456789012345678901234567890}


def test_a_number_is_the_nearest_float():
    assert files.object_of(b'{"loss": 0.1}') == {"loss": 0.1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[1]", "it is not a JSON object"),
        ('{"loss": NaN}', "invalid character"),
        ('{"loss": 0.1', "truncated"),
        (b'{"name": "\xff"}', "can't decode byte"),
        ("[" * 100_000, "its JSON is nested too deeply"),
    ],
)
def test_another_text_is_refused(text, reason):
    with pytest.raises(ValueError, match=reason):
        files.object_of(text)
