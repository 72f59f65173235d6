"""Lookups over all variants of a study, and statements of pages that were wrong before."""

from pathlib import Path

import pytest

from docs.build import statistics
from docs.build.numbers import Numbers
from pe_lab.runs.errors import UserError
from tests.docs.test_numbers import study
from tests.results.fake_study import point, record, write_study
from tests.results.test_selection import tuned

ROOT = Path(__file__).parents[2]


def test_unsolved_seeds_are_not_counted_among_those_that_may_extrapolate(tmp_path):
    """Three of four seeds are solved, and one of them reaches the threshold."""
    runs = {"rope": [0.95, 0.2, 0.3], "alibi": ([0.95], {"validation": {4: 0.1}})}
    found = study(tmp_path, runs)
    assert found.solved_extrapolate("rope", "alibi") == "1 of 3"
    assert found.extrapolates("rope", "alibi") == "1 of 4"


def test_choices_at_an_edge_are_counted(tmp_path):
    losses = {"0.001": (0.1, 0.3, 0.2), "0.003": (0.2, 0.1, 0.3), "0.01": (0.3, 0.2, 0.1)}
    runs = {
        (name, rate): [(of_names[i], 0.5)]
        for rate, of_names in losses.items()
        for i, name in enumerate(("rope", "alibi", "shaw"))
    }
    tuned(tmp_path, runs)
    assert Numbers(tmp_path).chosen_at_edge == "2 of 3"


def with_curves(folder):
    """Two seeds with two points each; exact match at length 8 is 0.1, 0.3 and then 0.5, 0.9."""
    entries = []
    for seed, values in enumerate([(0.1, 0.5), (0.3, 0.9)]):
        run = record(f"rope{seed}", seed, validation={4: 1.0}, test={8: values[-1]})
        for step, value in zip((2000, 4000), values, strict=True):
            scores = {"4": 1.0, "8": value}
            run["curve"].append({"step": step, "loss": 0.1, "exact_match": scores})
        entries.append((point("rope", seed), run))
    return Numbers(write_study(folder, *entries))


def test_the_mean_during_training_is_that_of_the_curves(tmp_path):
    found = with_curves(tmp_path)
    assert found.means_during_training(["rope"], 8, 2000) == "0.20"
    assert found.means_during_training(["rope"], 8, 4000) == "0.70"
    assert found.point_of_training(4000) == "4,000"
    with pytest.raises(UserError, match="rope, steps: has no '3000'"):
        found.point_of_training(3000)
    with pytest.raises(UserError, match="rope has no point at step 3000"):
        found.means_during_training(["rope"], 8, 3000)


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
    ],
)
def test_a_statement_that_was_wrong_is_gone(page, wrong):
    assert wrong not in text_of(page)


def test_pages_say_what_was_missing():
    statements = text_of("docs/statistics.md")
    assert "Validation and test draw independently from the same inputs." in statements
    assert "is a placebo for `rope` and `t5_bias`" in text_of(
        "results/published/exposure/README.md"
    )
    assert "braces, because the letter is a symbol of its own" in text_of("pe_lab/tasks/regular.py")
