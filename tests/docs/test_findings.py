"""docs/findings.md: a few claims in one form, short enough to read."""

import re
from pathlib import Path

import pytest

from tests.docs.typed_numbers import typed_numbers

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
INTRODUCTION, *FINDINGS, MORE = re.split(r"^## ", PAGE, flags=re.MULTILINE)
HEADINGS = [finding.partition("\n")[0] for finding in FINDINGS]
NUMBER = re.compile(r"(?<![\w.])\d[\d.,]*")
INTERVAL = re.compile(r"\[[-+−]?\d[^\]]*, [^\]]*\]")
LINK_TARGET = re.compile(r"\]\([^)]*\)")


def sentences(text):
    """Sentences outside of tables and pictures."""
    lines = [line for line in text.splitlines() if not line.startswith(("|", "![", "#", "<"))]
    prose = LINK_TARGET.sub("]", "\n".join(lines))
    return [part for part in re.split(r"(?<=[.!?])\s+|\n\n|\n- ", prose) if part.strip()]


def test_the_page_has_at_most_eight_findings_and_150_lines():
    assert 0 < len(FINDINGS) <= 8
    assert len(PAGE.splitlines()) <= 150
    assert MORE.startswith("More\n")


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_heading_is_a_claim_of_at_most_20_words_and_two_numbers(heading):
    assert len(heading.split()) <= 20
    assert len(NUMBER.findall(heading)) <= 2


@pytest.mark.parametrize("finding", FINDINGS, ids=HEADINGS)
def test_a_finding_has_one_table_or_picture_both_judgments_and_its_study(finding):
    exhibits = re.findall(r"^\|-|^!\[", finding, re.MULTILINE)
    assert len(exhibits) == 1
    assert re.findall(r"\*\*(.*?)\*\*", finding) == ["How sure.", "What it does not show."]
    assert re.search(r"^Stud(?:y|ies): \[.*\]\(\.\./results/published/", finding, re.MULTILINE)
    judged = finding.partition("**What it does not show.** ")[2].partition("\n")[0]
    has_one_size = re.search(r"One size \(2 layers, width \d+\); [^.]*$", judged[:-1])
    assert has_one_size or "(../results/published/size_ladder/README.md)" in judged
    assert re.search(r"; [^;.]*\btext\b[^.]*\.$", judged)


def test_sentences_are_short_and_have_at_most_two_intervals():
    assert [s for s in sentences(PAGE) if len(s.split()) > 30] == []
    assert [s for s in sentences(PAGE) if len(INTERVAL.findall(s)) > 2] == []


def test_numbers_are_looked_up_and_not_code():
    template = (ROOT / "docs" / "findings.md.jinja").read_text(encoding="utf-8")
    assert typed_numbers(template) == []
    assert re.findall(r"`[-+−]?\d[\d.,]*(?: %)?`", PAGE) == []
