"""Tables of a study that trains every seed at every learning rate."""

import itertools

import numpy as np
import pytest

from pe_lab.contrib.grids import run_scores
from pe_lab.contrib.grids.tables import setting_tables
from pe_lab.results import compare, frame, selection, tables
from pe_lab.runs.records import record_rows
from pe_lab.runs.studies.analysis_spec import MetricPoint, MetricSpec
from tests.results.fake_study import point, record, texts, write_study

RULES = "What rules of choice lose: learning rate"
RATE = "train.learning_rate"
RATES = ("0.001", "0.01", "0.1")
# Exact match at twice the training length by rate, for every seed, and the validation loss.
AT_TWICE = {"shaw": (0.95, 1.0, 1.0), "alibi": (0.0, 0.2, 0.95), "rope": (0.0, 0.0, 0.0)}
LOSSES = (1e-3, 1e-4, 1e-2)


def entry(name, rate, seed, value, loss, at_once=1.0, **more):
    test, validation = {4: at_once, 8: value}, {4: at_once}
    run = record(f"{name}{rate}{seed}", seed, test=test, validation=validation, **more)
    row = record_rows.row("validation", 4, 0, "negative_log_likelihood", loss, 100, None)
    run["rows"].append(row)
    return point(name, seed, **{"train.learning_rate": rate}), run


def study(folder, *, seeds=4, without=(), tuned=("train.learning_rate",)):
    entries = []
    for name, values in AT_TWICE.items():
        for rate, value, loss in zip(RATES, values, LOSSES, strict=True):
            for seed in range(seeds):
                labels, run = entry(name, rate, seed, value, loss)
                is_missing = (name, rate, seed) in without
                entries.append((labels, run["run_id"] if is_missing else run))
    return frame.read(write_study(folder, *entries, analysis={"tuned": list(tuned)}))


def test_a_variant_has_its_share_its_best_rate_and_that_of_validation(tmp_path):
    by_rate, rules, shares = setting_tables.tables(study(tmp_path))
    assert by_rate.title == "At most, best and chosen learning rate"
    found = texts(by_rate)
    assert [each[0] for each in found.values()] == ["12/12", "4/12", "0/12"]
    assert [each[1].partition(" ")[0] for each in found.values()] == ["1.00", "0.33", "0.00"]
    assert [each[2].partition(" ")[0] for each in found.values()] == ["1.00", "0.95", "0.00"]
    assert found["shaw"][2] == "1.00"
    # At 0.01, which has the lowest loss.
    assert [each[3].partition(" ")[0] for each in found.values()] == ["1.00", "0.20", "0.00"]
    # Half of the way from 1x to 2x: (1 + 0.95) / 2 of ALiBi.
    assert found["alibi"][4].partition(" ")[0] == "0.97"
    # The lowest loss chooses 0.01, where ALiBi has 0.2; Shaw loses nothing there, and neither RoPE.
    lost = f"{(0.95 - 0.2) / 3:.2f}"
    assert texts(rules)["lowest mean loss"][0].partition(" ")[0] == lost
    assert texts(rules)["always 0.01"][0].partition(" ")[0] == lost
    # ALiBi is between the two others at 0.01 as at the best rates; at 0.001 it is RoPE's equal.
    assert texts(rules)["always 0.01"][3] == "1.00 [1.00, 1.00]"
    assert texts(rules)["always 0.001"][3] == "0.82 [0.82, 0.82]"  # 2 / sqrt(3 · 2)
    # All seeds are equal, so only the variant and the rate count.
    assert texts(shares)["seed"] == ["0.00 [0.00, 0.00]"] * 2
    assert texts(shares)["variant × learning rate × seed"] == ["0.00 [0.00, 0.00]"] * 2


def test_the_rate_that_validation_chose_is_the_same_in_all_tables(tmp_path):
    """A row of the suite is comparable with what pages print of published studies."""
    generator = np.random.default_rng(0)
    entries = []
    for name, rate, seed in itertools.product(("shaw", "rope"), RATES, range(4)):
        value, loss = generator.random(2)
        entries.append(entry(name, rate, seed, round(value, 3), loss))
    found = frame.read(write_study(tmp_path, *entries, analysis={"tuned": [RATE]}))
    runs = setting_tables.full_grid(found)
    by_name = setting_tables.by_variant(found.spec, runs).set_index("name")["validation"]
    chosen = selection.choose(found)
    for full_name, variant in chosen.variants.iterrows():
        of_seeds = compare.by_seed(chosen, full_name, MetricSpec("exact_match", MetricPoint(at=2)))
        name = variant["model.encodings"]
        assert by_name[name] == pytest.approx(np.mean(list(of_seeds.values())))
        of_name = runs[runs["name"] == name]
        assert run_scores.chosen(of_name, RATE) == selection.setting(chosen, full_name)


@pytest.mark.parametrize(
    ("solved_by", "mostly_solved"),
    [
        ({"0.001", "0.01"}, "1.00 [1.00, 1.00]"),  # Shaw has 1 there and RoPE 0
        ({"0.001"}, "–"),  # one rate has no variance between rates
    ],
)
def test_shares_are_also_over_the_rates_that_most_runs_solve(tmp_path, solved_by, mostly_solved):
    entries = []
    for name, rate, seed in itertools.product(("shaw", "rope"), RATES, range(4)):
        is_solved = rate in solved_by
        value = float(is_solved and name == "shaw")
        entries.append(entry(name, rate, seed, value, 1e-3, at_once=float(is_solved)))
    spec = {"tuned": ["train.learning_rate"]}
    *_, shares = setting_tables.tables(frame.read(write_study(tmp_path, *entries, analysis=spec)))
    over_all, over_solved = texts(shares)["variant"]
    assert over_solved == mostly_solved
    assert float(over_all.partition(" ")[0]) < 1


def test_a_variant_that_lacks_a_run_is_left_out(tmp_path):
    by_rate, *_ = setting_tables.tables(study(tmp_path, without={("alibi", "0.01", 2)}))
    assert list(texts(by_rate)) == ["shaw", "rope"]


@pytest.mark.parametrize("more", [{"seeds": 3}, {"tuned": ()}])
def test_there_are_no_tables_without_enough_seeds_or_a_tuned_axis(tmp_path, more):
    assert setting_tables.tables(study(tmp_path, **more)) == []


def test_one_measured_multiple_has_no_area_and_no_tables(tmp_path):
    entries = []
    for rate, seed in itertools.product(RATES, range(4)):
        labels, run = entry("rope", rate, seed, 0.5, 1e-3)
        run["rows"] = [row for row in run["rows"] if (row["split"], row["length"]) != ("test", 4)]
        entries.append((labels, run))
    spec = {"tuned": [RATE]}
    assert setting_tables.tables(frame.read(write_study(tmp_path, *entries, analysis=spec))) == []


def test_one_variant_has_no_shares_of_variance(tmp_path):
    only_shaw = {(name, rate, 0) for name in ("alibi", "rope") for rate in RATES}
    titles = [table.title for table in setting_tables.tables(study(tmp_path, without=only_shaw))]
    assert titles == ["At most, best and chosen learning rate", RULES]


def test_variants_that_share_their_runs_have_a_row_each(tmp_path):
    """NoPE is the same under every scheme. The name of an axis may end in x."""
    entries = []
    for rate, seed in itertools.product(RATES, range(4)):
        _, run = entry("nope", rate, seed, 0.5, 1e-3)
        for scheme in ("contiguous", "shifted"):
            entries.append((point("nope", seed, **{RATE: rate, "task.max_index": scheme}), run))
    schemes = frame.read(write_study(tmp_path, *entries, analysis={"tuned": [RATE]}))
    by_rate, _, shares = setting_tables.tables(schemes)
    assert [row[0] for row in texts(by_rate).values()] == ["0/12", "0/12"]
    assert "from 1× to 2×, at the best" in by_rate.caption
    assert texts(shares)["seed"] == ["–", "–"]  # nothing varies


def test_the_page_of_a_study_has_all_tables(tmp_path):
    page = tables.markdown(study(tmp_path))
    assert "## At most, best and chosen learning rate" in page
    assert f"## {RULES}" in page
    assert "## What runs vary with" in page
