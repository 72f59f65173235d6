import pytest

from pe_lab.results import prose
from pe_lab.runs.errors import UserError
from tests.results.fake_study import point, record, write_study


@pytest.fixture
def study(tmp_path):
    runs = [
        (point("rope", i), record(f"r{i}", i, test={4: 1.0, 8: v}, validation={4: 1.0}))
        for i, v in enumerate((0.2, 0.3, 0.7))
    ]
    return write_study(tmp_path / "fake", *runs)


def test_a_page_has_the_numbers_of_its_study_and_of_others(study):
    template = 'RoPE has {{ study.center("rope", 8) }} and {{ of("fake").each_seed("rope", 8) }}.\n'
    assert prose.render(template, study, study.parent) == "RoPE has 0.30 and 0.20, 0.30 and 0.70.\n"


def test_a_number_that_the_study_does_not_have_is_an_error(study):
    with pytest.raises(UserError, match=r"has no 'ropes'\. Did you mean 'rope'\?"):
        prose.render('{{ study.center("ropes", 8) }}', study, study.parent)
    with pytest.raises(UserError, match="rope has no number at length 12"):
        prose.render('{{ study.center("rope", 12) }}', study, study.parent)


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
    assert prose.typed_numbers(f"# Title\n{line}\n") == [
        f"line 2: {number} is typed, not looked up"
    ]


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
    assert prose.typed_numbers(line) == []


def test_a_wrong_number_is_named_with_the_right_one():
    page = "# Title\nRoPE has 0.29 and T5 0.78.\n"
    assert prose.wrong_numbers(page, page) == []
    assert prose.wrong_numbers(page.replace("0.78", "0.47"), page) == [
        "line 2 says 0.47, and the records say 0.78"
    ]
    assert prose.wrong_numbers(page.replace("has", "had"), page) == [
        "line 2 is not that of the template: 'RoPE had 0.29 and T5 0.78.'"
    ]
    assert len(prose.wrong_numbers(page + "RoPE is best.\n", page)) == 1
