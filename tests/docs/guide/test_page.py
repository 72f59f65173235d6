"""docs/guide.md has pictures, and no number of its own."""

import re
from pathlib import Path

import jinja2
import pytest

from docs.build import templates
from docs.build.guide import page

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guide.md"
TEMPLATE = ROOT / "docs" / "guide.md.jinja"


def render(template):
    return templates.render(template, **page.lookups(ROOT))


def test_it_has_pictures():
    assert len(re.findall(r"\]\([^)]+\.png\)", GUIDE.read_text(encoding="utf-8"))) >= 7


def test_the_template_has_no_measured_number_of_its_own():
    template = TEMPLATE.read_text(encoding="utf-8")
    prose = re.sub(r"\{\{.*?\}\}|\{%.*?%\}|\]\([^)]*\)", "", template, flags=re.DOTALL)
    assert re.findall(r"\d\.\d+", prose) == []


def test_a_number_that_no_record_has_is_not_left_out():
    with pytest.raises(jinja2.UndefinedError):
        render("{{ measured.fresh.nothing }}")
    with pytest.raises(KeyError):
        render('{{ card("nope", "nothing") }}')


def test_an_upper_bound_is_not_rounded_down():
    """The record has 1.3e-06: "no more than 1e-06" would be wrong."""
    bounds = "{{ shift | power_at_most }} {{ step | at_most }}"
    assert templates.render(bounds, shift=1.3152607607480604e-06, step=1.361) == "2e-06 1.37"
    guided = GUIDE.read_text(encoding="utf-8")
    template = TEMPLATE.read_text(encoding="utf-8")
    assert "no logit differs by more than 2e-06" in guided
    bounds = re.findall(r"(?:more than|between 0 and)\s+\{\{([^}]*)\}\}", template)
    assert len(bounds) == 4
    assert all("at_most" in bound for bound in bounds)
