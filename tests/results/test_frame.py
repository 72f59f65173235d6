"""The frame of a study: its columns, its rows, and what it leaves out."""

import math

import pandas as pd
import pytest

from pe_lab.results import frame, selection
from pe_lab.results.summary import summarize
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from tests.results import fake_study
from tests.results.fake_study import entry, row
from tests.results.test_selection import RATE, tuned


@pytest.fixture
def two_variants(tmp_path):
    return frame.read(fake_study.two_variants(tmp_path))


def test_a_frame_has_one_row_for_each_number(two_variants):
    numbers = two_variants.numbers
    exact = numbers[numbers["metric"] == "exact_match"]
    assert len(exact) == 9
    (of_run,) = exact.query("split == 'test' and length == 8 and run_id == 'r1'").to_dict("records")
    expected = {
        "run_id": "r1",
        "variant": "rope",
        "model.encodings": "rope",
        "task": "copy",
        "seed": 1,
        "data_seed": 1,
        "status": "finished",
        "solved": False,
        "chosen": True,
        "max_length": 4,
        "split": "test",
        "length": 8,
        "offset": 0,
        "override": "",
        "metric": "exact_match",
        "value": 0.3,
        "bound": "",
        "reason": "",
    }
    assert of_run == expected
    assert list(of_run) == list(expected)


def test_a_number_that_could_not_be_measured_is_nan_with_its_reason(two_variants):
    numbers = two_variants.numbers
    of_run = numbers[(numbers.run_id == "a1") & (numbers.length == 8)].iloc[0]
    assert math.isnan(of_run.value)
    assert of_run.reason == "the table ends"


def test_the_metrics_of_a_run_are_numbers_like_any_other(two_variants):
    """RoPE's first seed keeps 0.9 up to its shortest length only: a length, and no bound."""
    numbers = two_variants.numbers
    of_run = numbers[(numbers.run_id == "r0") & (numbers.split == "run")].set_index("metric")
    assert of_run.loc["L90", ["value", "bound"]].tolist() == [4.0, ""]
    assert of_run.loc["solved", "value"] == 1
    at_eight = numbers.query("metric == 'extrapolates' and length == 8").set_index("run_id")
    assert at_eight["value"].to_dict() == {"r0": 0, "r1": 0, "r2": 0, "a1": 0}


def test_a_summary_has_the_centers_intervals_and_counts_of_a_table(two_variants):
    tests = two_variants.numbers.query("split == 'test' and metric == 'exact_match'")
    found = summarize(tests, rows=["variant"], columns=["length"])
    assert found.center.loc["rope"].tolist() == pytest.approx([0.998, 0.4])
    assert math.isnan(found.center.loc["alibi", 8])
    assert found.count.to_dict("index") == {"rope": {4: 2, 8: 2}, "alibi": {4: 1, 8: 0}}
    assert (found.high - found.low).isna().all(axis=None)  # too few runs for an interval
    means = summarize(tests.query("solved"), rows=["variant"], show="mean")
    assert means.center.loc["rope"].tolist() == pytest.approx([0.75])
    five = pd.DataFrame({"variant": "rope", "value": [0.1, 0.5, 0.3, 0.2, 0.4]})
    exact = summarize(five, rows=["variant"])
    assert (exact.low.iloc[0, 0], exact.high.iloc[0, 0]) == (0.1, 0.5)


def test_runs_without_a_number_are_rows_of_read_runs(two_variants):
    runs = two_variants.runs
    assert list(runs.run_id) == ["r0", "r1", "r2", "a0", "a1"]  # a2 has no record
    assert list(runs.status) == ["finished", "finished", "diverged", "failed", "finished"]
    assert list(runs.error) == ["", "", "why", "why", ""]
    assert list(runs.max_length) == [4, 4, 4, 0, 4]
    assert runs.max_position[0] == 9
    assert math.isnan(runs.max_position[3])


def test_an_override_is_a_column_and_lists_are_left_out(tmp_path):
    labels, run = entry("rope", test={4: 0.5})
    run["rows"] += [row("exact_match", 4, 0.75, override="yarn"), row("first_error", 4, [1, 2])]
    numbers = fake_study.study(tmp_path, (labels, run)).numbers
    exact = numbers.query("split == 'test' and metric == 'exact_match'")
    assert exact[["override", "value"]].values.tolist() == [["", 0.5], ["yarn", 0.75]]
    assert "first_error" not in set(numbers["metric"])


def test_a_curve_is_a_frame_of_steps(tmp_path):
    labels, run = entry("rope", test={4: 0.5})
    run["curve"] = [
        {"step": step, "loss": loss, "exact_match": {"4": value}, "scale_ratio": []}
        for step, loss, value in ((0, None, 0.0), (50, 1.5, 0.5))
    ]
    curves = fake_study.study(tmp_path, (labels, run)).curves
    assert curves[["step", "split", "metric", "value"]].values.tolist() == [
        [0, "validation", "exact_match", 0.0],
        [50, "training", "loss", 1.5],
        [50, "validation", "exact_match", 0.5],
    ]
    assert curves.length.isna().tolist() == [False, True, False]


def test_the_chance_level_of_a_task_is_the_highest_of_its_runs_at_each_length(two_variants):
    assert two_variants.chance_levels.values.tolist() == [
        ["copy", "exact_match", 4, 0.2],
        ["copy", "exact_match", 8, 0.0],
        ["copy", "token_accuracy", 4, 0.5],
        ["copy", "token_accuracy", 8, 0.5],
    ]


def test_a_task_keeps_its_chance_level_when_validation_has_chosen_a_setting(tmp_path):
    levels = {"copy": {4: 0.1}, "parity": {4: 0.5}}
    entries = [
        entry("rope", 0, {"task": task, RATE: rate}, loss=loss, task=task, chance_levels=of_task)
        for task, of_task in levels.items()
        for rate, loss in (("1", 0.2), ("2", 0.1))
    ]
    chosen = selection.choose(fake_study.study(tmp_path, *entries, tuned=[RATE]))
    exact = chosen.chance_levels.query("metric == 'exact_match'")
    assert exact[["task", "value"]].values.tolist() == [["copy", 0.1], ["parity", 0.5]]


def test_a_folder_without_a_study_and_a_damaged_record_are_refused(tmp_path):
    with pytest.raises(UserError, match="There is no study in"):
        frame.read(tmp_path)
    folder = fake_study.two_variants(tmp_path)
    path = records.path_of(folder, "r0")
    path.write_text(path.read_text().replace("0.996", "1.0").replace("0.5", "0.75"))
    with pytest.raises(records.DamagedRecord, match="r0"):
        frame.read(folder)


def test_the_runs_with_the_setting_that_validation_chose_are_marked(tmp_path):
    """Rate 2 has the lowest loss, and a third seed."""
    runs = tuned(tmp_path, {"1": [(0.2, 1.0)] * 2, "2": [(0.1, 1.0)] * 3}).runs
    assert runs.groupby(RATE)["chosen"].agg(["all", "any", "size"]).values.tolist() == [
        [False, False, 2],
        [True, True, 3],
    ]
