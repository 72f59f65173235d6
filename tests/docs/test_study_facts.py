"""Lookups of pages alone, and statements of pages that were wrong before."""

from pathlib import Path

import pytest

from docs.build import rounding, statistics
from tests.results.fake_study import point, record, write_study

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("number", "shown"), [(0.121, "0.13"), (0.12, "0.12"), (1.361, "1.37"), (0.0, "0.00")]
)
def test_an_upper_bound_is_rounded_up(number, shown):
    assert rounding.at_most(number, 2) == shown


@pytest.mark.parametrize(
    ("number", "shown"),
    [(1.3152607607480604e-06, "2e-06"), (4.94e-07, "5e-07"), (9.5e-07, "1e-06"), (2e-06, "2e-06")],
)
def test_an_upper_bound_is_rounded_up_to_one_digit(number, shown):
    assert rounding.power_at_most(number) == shown


def test_studies_whose_training_left_out_evaluation_inputs_are_told_from_the_others(tmp_path):
    for name, excluded in (("first", [True]), ("second", [False]), ("third", [True, False])):
        entries = []
        for seed, is_excluded in enumerate(excluded):
            run = record(f"{name}{seed}", seed, validation={4: 1.0}, test={8: 0.5})
            run["config"]["train"] = {"exclude_held_out": is_excluded, "learning_rate": 0.1}
            entries.append((point("rope", seed), run))
        write_study(tmp_path / "results" / "published" / name, *entries)
    assert statistics.held_out(tmp_path) == ("`first` and `third`", "`second` and `third`")


def text_of(page):
    return " ".join((ROOT / page).read_text(encoding="utf-8").split())


@pytest.mark.parametrize(
    ("page", "wrong"),
    [
        ("docs/statistics.md", "alone was trained this way"),
        ("results/published/quickstart/README.md", "The runs of the other published studies do"),
        ("docs/guide.md", "not solved in our budget"),
        ("docs/guide.md", "| Start with RoPE: it has no parameters, and libraries support it. |"),
        ("docs/guide.md", "a small clip for distances. | measured here"),
        ("results/published/exposure/README.md", "A longer training would tell"),
        ("README.md", "on most tasks"),
        ("docs/guide.md", "| Nothing extends reliably"),
        ("docs/suite.md", "| position, because symbols repeat |"),
        ("docs/published.md", "repeated symbols and addition are undecided"),
        ("results/published/convolution_copying/README.md", "this may not be enough"),
        ("results/published/exposure/README.md", "a difference of this size between two variants"),
        ("docs/findings.md", "is no share of this sum"),
        ("docs/findings.md", "steps this is open"),
        ("docs/reproductions.md", "mostly because too few seeds"),
    ],
)
def test_a_statement_that_was_wrong_is_gone(page, wrong):
    assert wrong not in text_of(page)


def test_pages_say_what_was_missing():
    statements = text_of("docs/statistics.md")
    assert "Validation and test draw independently from the same inputs." in statements
    assert "A random start in training is a placebo for them" in text_of(
        "results/published/exposure/README.md"
    )
    assert "braces, because the letter is a symbol of its own" in text_of(
        "pe_lab/contrib/papers/tasks/regular.py"
    )
