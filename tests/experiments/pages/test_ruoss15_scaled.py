"""The lookups of the page of ruoss15:scaled."""

from pathlib import Path

import pytest

from experiments import published
from pe_lab.runs.records import records
from results.published.ruoss15_scaled import page

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def lookups():
    return page.lookups(ROOT)


def test_a_score_is_the_mean_token_accuracy_over_the_tested_lengths_beyond_training(lookups):
    by_seed = {}
    for record in records.each(ROOT / page.FOLDER):
        config = record["config"]
        encodings = [encoding["name"] for encoding in config["model"]["encodings"]]
        found = config["task"]["name"], encodings, config["positions"]["name"]
        if found == ("even_pairs", ["rope"], "contiguous"):
            rows = [row for row in record["rows"] if row["split"] == "test" and row["length"] > 10]
            values = [row["value"] for row in rows if row["metric"] == "token_accuracy"]
            by_seed[config["seed"]] = sum(values) / len(values)
    study = published.of(ROOT, page.FOLDER.name).chosen
    scores = page.scores(study, "even_pairs · rope · contiguous")
    assert scores == pytest.approx([by_seed[seed] for seed in range(5)])
    assert lookups["median"]("even_pairs · rope · contiguous") == "0.70"


def test_changes_are_means_over_encodings_and_seeds(lookups):
    """The means of the five encodings by hand: 0.22, -0.002, 0.207, 0.256 and 0.063."""
    assert lookups["change"]("even_pairs") == "+0.15"
    assert lookups["largest_other_change"]("bucket_sort") == "+0.15"
    assert lookups["most_above_chance"]("even_pairs") == "0.46"  # RoPE, randomized
    assert lookups["change_without"](["bucket_sort"], "alibi") == "0.00"
