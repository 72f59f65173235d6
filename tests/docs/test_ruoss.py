"""The lookups of the page of ruoss15:scaled."""

from pathlib import Path

import pytest

from docs.build import published, ruoss
from pe_lab.runs import records

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def lookups():
    return ruoss.lookups(ROOT)


def test_a_row_has_the_medians_and_solved_seeds_of_both_kinds_of_positions(lookups):
    header, _, row, *_ = lookups["by_task"].splitlines()
    encodings = "none | sinusoidal | learned | relative | rope | alibi"
    assert header == f"| task | chance level | {encodings} |"
    assert row == (
        "| even_pairs | 0.51 | 0.51 (0) | 0.54 → 0.75 (5, 0) | 0.50 → 0.50 (0, 0) "
        "| 0.67 → 0.91 (5, 4) | 0.70 → 0.96 (5, 5) | 0.56 → 0.62 (0, 0) |"
    )


def test_a_score_is_the_mean_token_accuracy_over_the_tested_lengths_beyond_training(lookups):
    by_seed = {}
    for record in records.each(ROOT / ruoss.FOLDER):
        config = record["config"]
        encodings = [encoding["name"] for encoding in config["model"]["encodings"]]
        found = config["task"]["name"], encodings, config["positions"]["name"]
        if found == ("even_pairs", ["rope"], "contiguous"):
            rows = [row for row in record["rows"] if row["split"] == "test" and row["length"] > 10]
            values = [row["value"] for row in rows if row["metric"] == "token_accuracy"]
            by_seed[config["seed"]] = sum(values) / len(values)
    study = published.of(ROOT, ruoss.FOLDER.name).chosen
    scores = ruoss.scores(study, "even_pairs · rope · contiguous")
    assert scores == pytest.approx([by_seed[seed] for seed in range(5)])
    assert lookups["median"]("even_pairs · rope · contiguous") == "0.70"


def test_changes_are_means_over_encodings_and_seeds(lookups):
    """The means of the five encodings by hand: 0.22, -0.002, 0.207, 0.256 and 0.063."""
    assert lookups["change"]("even_pairs") == "+0.15"
    assert lookups["largest_other_change"]("bucket_sort") == "+0.15"
    assert lookups["most_above_chance"]("even_pairs") == "0.46"  # RoPE, randomized
    assert lookups["change_without"](["bucket_sort"], "alibi") == "0.00"


def test_solved_runs_are_counted_by_positions(lookups):
    table = lookups["by_task"].splitlines()[2:]
    counts = [cell.split("(")[1].split(")")[0] for row in table for cell in row.split("|")[4:-1]]
    contiguous, randomized = zip(*(map(int, count.split(", ")) for count in counts), strict=True)
    assert lookups["solved"]("contiguous") == f"{sum(contiguous)} of 375"
    assert lookups["solved"]("contiguous", "even_pairs", "reverse") == "25 of 50"
    assert lookups["solved"]("randomized") == f"{sum(randomized)} of 375"
