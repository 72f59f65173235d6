import json
from pathlib import Path

import pytest

from docs.build import coverage
from docs.build.statistics import RECORD as RECORD_FILE
from pe_lab.results import statistics

ROOT = Path(__file__).parents[2]
RECORD = json.loads((ROOT / RECORD_FILE).read_text(encoding="utf-8"))


def test_tables_quote_the_record():
    assert coverage.measured(RECORD) == statistics.MEASURED


def test_the_record_has_every_interval_of_the_current_distributions():
    worlds = {name: [list(group) for group in groups] for name, groups in coverage.WORLDS.items()}
    assert RECORD["worlds"] == worlds
    assert RECORD["studies"] == coverage.STUDIES
    seeds = [str(count) for count in coverage.SEEDS]
    assert list(RECORD["centers"]) == list(coverage.INTERVALS)
    for by_world in RECORD["centers"].values():
        assert list(by_world) == list(coverage.WORLDS)
        assert all(list(by_count) == seeds for by_count in by_world.values())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "count"), [("order statistics", 5), ("t", 5), ("t", 9), ("percentile bootstrap", 3)]
)
def test_a_simulation_is_repeatable(kind, count):
    recorded = RECORD["centers"][kind]["two groups"][str(count)]
    assert coverage.center_coverage(kind, "two groups", count) == recorded


@pytest.mark.full
@pytest.mark.parametrize("count", [10, 20])
def test_a_simulation_of_the_bootstrap_is_repeatable(count):
    recorded = RECORD["centers"]["BCa"]["two groups"][str(count)]
    assert coverage.center_coverage("BCa", "two groups", count) == recorded


def test_exact_intervals_have_their_nominal_coverage():
    # Order statistics of five seeds: 93.75% for every distribution. Clopper-Pearson: at least 95%.
    five_seeds = RECORD["centers"]["order statistics"]["two groups"]["5"]
    assert five_seeds == pytest.approx(0.9375, abs=0.015)
    assert min(each["least"] for each in RECORD["rates"]["clopper-pearson"].values()) >= 0.95


def test_the_percentile_bootstrap_of_three_seeds_covers_the_range_of_the_seeds():
    # The range contains the mean unless all three are of one group: 1 - 0.6**3 - 0.4**3.
    three_seeds = RECORD["centers"]["percentile bootstrap"]["two groups"]["3"]
    assert three_seeds == pytest.approx(0.72, abs=0.02)


def test_wilsons_coverage_by_hand():
    # Intervals of one seed: [0, 0.79] if it does not extrapolate, and [0.21, 1] if it does.
    rates = [percent / 100 for percent in range(5, 96)]
    expected = [(1 - rate) * (rate <= 0.7935) + rate * (rate >= 0.2065) for rate in rates]
    computed = coverage.rate_coverage("wilson", 1)
    assert computed["mean"] == pytest.approx(sum(expected) / 91, abs=1e-3)
    assert computed["least"] == pytest.approx(min(expected), abs=1e-3)


def test_there_is_no_interval_of_too_few_seeds():
    assert coverage.center_coverage("order statistics", "one group", 3) is None
