"""The check that numbers of a template are looked up."""

import pytest

from tests.docs.typed_numbers import typed_numbers


@pytest.mark.parametrize(
    ("line", "number"),
    [
        ("RoPE has 0.37 here.", "0.37"),
        ("Of 1,024 tokens.", "1,024"),
        ("From three seeds.", "three"),
        ("RoPE has {{ 0.37 }} here.", "{{ 0.37 }}"),
        ('RoPE has {{ "0.37" }} here.', '{{ "0.37" }}'),
    ],
)
def test_a_typed_number_is_named_with_its_line(line, number):
    assert typed_numbers(f"# Title\n{line}\n") == [f"line 2: {number} is typed, not looked up"]


@pytest.mark.parametrize(
    "line",
    [
        '{{ study.center("rope", 8) }}',
        "{% set a = 8 %}",
        "`scale=0.1`",
        "[table](table_1.png)",
        "<!-- 8 -->",
        "T5's bias",
        "```\n8\n```",
    ],
)
def test_lookups_code_links_and_names_may_have_digits(line):
    assert typed_numbers(line) == []
