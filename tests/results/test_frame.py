"""The frame of a study: its columns, its rows, and what it leaves out."""

import math

import pandas as pd
import pytest

from pe_lab.results import frame, selection
from pe_lab.results.summary import summarize
from pe_lab.runs import record_rows, records
from pe_lab.runs.errors import UserError
from tests.results import fake_study
from tests.results.fake_study import point, record, write_study
from tests.results.test_selection import RATE, tuned


def test_a_frame_has_one_row_for_each_number(tmp_path):
    results = frame.read(fake_study.two_variants(tmp_path)).numbers
    assert list(results.columns) == [
        *("run_id", "variant", "model.encodings", "task", "seed", "data_seed", "status"),
        *(
            "solved",
            "chosen",
            "max_length",
            "split",
            "length",
            "offset",
            "override",
            "metric",
            "value",
        ),
        *("bound", "reason"),
    ]
    at_eight = results.query("split == 'test' and length == 8 and metric == 'exact_match'")
    row = at_eight[at_eight.run_id == "r1"]
    assert row.to_dict("records") == [
        {
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
    ]
    assert len(results.query("metric == 'exact_match'")) == 9


def test_a_number_that_could_not_be_measured_is_nan_with_its_reason(tmp_path):
    results = frame.read(fake_study.two_variants(tmp_path)).numbers
    row = results[(results.run_id == "a1") & (results.length == 8)].iloc[0]
    assert math.isnan(row.value)
    assert row.reason == "the table ends"


def test_the_metrics_of_a_run_are_numbers_like_any_other(tmp_path):
    """RoPE's first seed keeps 0.9 up to its shortest length only: a length, and no bound."""
    results = frame.read(fake_study.two_variants(tmp_path)).numbers
    of_run = results[(results.run_id == "r0") & (results.split == "run")].set_index("metric")
    assert of_run.loc["L90", ["value", "bound"]].tolist() == [4.0, ""]
    assert of_run.loc["solved", "value"] == 1
    at_eight = results.query("metric == 'extrapolates' and length == 8").set_index("run_id")
    assert at_eight["value"].to_dict() == {"r0": 0, "r1": 0, "r2": 0, "a1": 0}


def test_a_summary_has_the_centers_intervals_and_counts_of_a_table(tmp_path):
    tests = frame.read(fake_study.two_variants(tmp_path)).numbers
    tests = tests.query("split == 'test' and metric == 'exact_match'")
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


def test_runs_without_a_number_are_rows_of_read_runs(tmp_path):
    runs = frame.read(fake_study.two_variants(tmp_path)).runs
    assert list(runs.run_id) == ["r0", "r1", "r2", "a0", "a1"]  # a2 has no record
    assert list(runs.status) == ["finished", "finished", "diverged", "failed", "finished"]
    assert list(runs.error) == ["", "", "why", "why", ""]
    assert list(runs.max_length) == [4, 4, 4, 0, 4]
    assert runs.max_position[0] == 9
    assert math.isnan(runs.max_position[3])


def test_an_override_is_a_column_and_lists_are_left_out(tmp_path):
    record = fake_study.record("r0", test={4: 0.5}, validation={4: 1.0})
    override = {
        "label": "yarn",
        "positions": None,
        "encodings": None,
        "reveals_target_length": False,
    }
    record["rows"] += [
        record_rows.row("test", 4, 0, "exact_match", 0.75, 100, override=override),
        record_rows.row("test", 4, 0, "first_error", [1, 2], 100),
    ]
    results = frame.read(fake_study.write_study(tmp_path, (fake_study.point("rope", 0), record)))
    test = results.numbers.query("split == 'test' and metric == 'exact_match'")
    assert list(zip(test.override, test.value, strict=True)) == [("", 0.5), ("yarn", 0.75)]


def test_a_curve_is_a_frame_of_steps(tmp_path):
    record = fake_study.record("r0", test={4: 0.5}, validation={4: 1.0})
    record["curve"] = [
        {"step": 0, "loss": None, "exact_match": {"4": 0.0}, "scale_ratio": []},
        {"step": 50, "loss": 1.5, "exact_match": {"4": 0.5}, "scale_ratio": []},
    ]
    folder = fake_study.write_study(tmp_path, (fake_study.point("rope", 0), record))
    curves = frame.read(folder).curves
    assert list(zip(curves.step, curves.split, curves.metric, curves.value, strict=True)) == [
        (0, "validation", "exact_match", 0.0),
        (50, "training", "loss", 1.5),
        (50, "validation", "exact_match", 0.5),
    ]
    assert curves.length.isna().tolist() == [False, True, False]


def test_the_chance_level_of_a_task_is_the_highest_of_its_runs_at_each_length(tmp_path):
    levels = frame.read(fake_study.two_variants(tmp_path)).chance_levels
    assert levels.values.tolist() == [
        ["copy", "exact_match", 4, 0.2],
        ["copy", "exact_match", 8, 0.0],
        ["copy", "token_accuracy", 4, 0.5],
        ["copy", "token_accuracy", 8, 0.5],
    ]


def test_a_task_keeps_its_chance_level_when_validation_has_chosen_a_setting(tmp_path):
    entries = []
    for task, chance_level in (("copy", 0.1), ("parity", 0.5)):
        for rate, loss in (("1", 0.2), ("2", 0.1)):
            made = record(task + rate, test={4: 1.0}, chance_levels={4: chance_level}, task=task)
            row = record_rows.row("validation", 4, 0, "negative_log_likelihood", loss, 100)
            made["rows"].append(row)
            entries.append((point("rope", 0, task=task, **{RATE: rate}), made))
    folder = write_study(tmp_path, *entries, analysis={"tuned": [RATE]})
    levels = selection.choose(frame.read(folder)).chance_levels
    exact = levels[levels["metric"] == "exact_match"]
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
    """The study of tests/results/test_selection.py: rate 2 has the lowest loss, and a third
    seed.
    """
    runs = {("rope", "1"): [(0.2, 1.0)] * 2, ("rope", "2"): [(0.1, 1.0)] * 3}
    tuned(tmp_path, runs)
    rows = frame.read(tmp_path).runs
    assert rows.groupby(RATE)["chosen"].agg(["all", "any", "size"]).values.tolist() == [
        [False, False, 2],
        [True, True, 3],
    ]
