import json
from pathlib import Path

import pytest

from docs.build import coverage
from docs.build.statistics import RECORD as RECORD_FILE
from pe_lab.results import statistics

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / RECORD_FILE).read_text(encoding="utf-8"))


def test_tables_quote_what_the_record_has():
    assert coverage.measured(RECORD) == statistics.MEASURED


def test_the_record_is_of_todays_worlds_and_has_every_interval():
    assert RECORD["worlds"] == {
        name: [list(part) for part in parts] for name, parts in coverage.WORLDS.items()
    }
    assert RECORD["studies"] == coverage.STUDIES
    assert {
        kind: {w: list(found) for w, found in worlds.items()}
        for kind, worlds in RECORD["centres"].items()
    } == {
        kind: {world: [str(n) for n in coverage.SEEDS] for world in coverage.WORLDS}
        for kind in coverage.INTERVALS
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count"), [("order statistics", 5), ("t", 5), ("t", 9), ("percentile bootstrap", 3)]
)
def test_a_simulation_gives_the_same_share_again(kind, count):
    assert (
        coverage.held(kind, "two groups", count)
        == RECORD["centres"][kind]["two groups"][str(count)]
    )


@pytest.mark.full
@pytest.mark.parametrize("count", [10, 20])
def test_a_simulation_of_the_bootstrap_gives_the_same_share_again(count):
    assert (
        coverage.held("BCa", "two groups", count)
        == RECORD["centres"]["BCa"]["two groups"][str(count)]
    )


def test_exact_intervals_hold_what_they_promise():
    """Order statistics of five: 93.75 %, whatever the distribution; Clopper and Pearson's: 95 % at every rate."""
    assert RECORD["centres"]["order statistics"]["two groups"]["5"] == pytest.approx(
        0.9375, abs=0.015
    )
    assert min(found["least"] for found in RECORD["rates"]["clopper-pearson"].values()) >= 0.95


def test_a_percentile_bootstrap_of_three_seeds_covers_what_the_seeds_span():
    """It goes from the least to the greatest, so that it holds the mean where the three are not of one group: 1 - 0.6³ - 0.4³."""
    assert RECORD["centres"]["percentile bootstrap"]["two groups"]["3"] == pytest.approx(
        0.72, abs=0.02
    )


def test_wilsons_coverage_by_hand():
    """Of one seed, at every rate: none extrapolates [0, 0.79], one does [0.21, 1]."""
    found = coverage._of_rates("wilson", 1)
    held = [(1 - p) * (p <= 0.7935) + p * (p >= 0.2065) for p in [i / 100 for i in range(5, 96)]]
    assert found["mean"] == pytest.approx(sum(held) / 91, abs=1e-3)
    assert found["least"] == pytest.approx(min(held), abs=1e-3)


def test_there_is_no_interval_where_there_are_too_few_seeds():
    assert coverage.held("order statistics", "one group", 3, 5) is None
