"""Exact match by attribute, from records to a DataFrame."""

import numpy as np
import pandas as pd
import pytest

from pe_lab.results import frame, plots, statistics
from pe_lab.results.plots import drawing, plotted, run_pictures
from pe_lab.runs.records import record_rows, records
from tests.results import synthetic

METRIC = "exact_match_by_attribute"
VALUES = [[0, 10, 10], [1, 2, 0], [2, 30, 15], [3, 40, 10]]
LABEL = "number of ones"


def write(folder, encodings=("rope", "alibi"), seeds=2, tasks=()):
    return synthetic.write(
        folder, encodings=encodings, seeds=seeds, rates=(), schemes=(), tasks=tasks
    )


@pytest.fixture
def folder(tmp_path):
    """A study in which each run has the attribute num_ones at length 8."""
    return add(write(tmp_path))


def add(study, label=LABEL):
    """Give each run the values of the attribute; without a label as in the first such records."""
    for record in records.read_all(study).values():
        row = record_rows.row("test", 8, 0, METRIC, VALUES, 82, attribute="num_ones")
        nothing = record_rows.row("test", 12, 0, METRIC, None, 0, "why", attribute="num_ones")
        if label:
            row["attribute_label"] = label
        records.write(study, {**record, "rows": [*record["rows"], row, nothing]})
    return study


def drawn(study):
    """The axes of the plot, and the lines of the first one."""
    with drawing.settings():
        figure = run_pictures.by_attribute(plotted.of(frame.read(study)), "num_ones")
    return figure.axes, figure.axes[0].get_lines()


def test_each_value_of_an_attribute_is_a_row_with_its_wilson_interval(folder):
    rows = frame.read(folder).attributes
    assert len(rows) == 2 * 2 * len(VALUES)
    (one,) = rows.query("run_id == @rows.run_id[0] and attribute_value == 2").to_dict("records")
    interval = statistics.wilson(15, 30)
    expected = {"split": "test", "length": 8, "offset": 0, "override": ""}
    expected |= {"attribute": "num_ones", "attribute_label": LABEL, "count": 30, "successes": 15}
    expected |= {"value": 0.5, "low": interval.low, "high": interval.high}
    assert one | expected == one


def test_the_other_measurements_are_the_same_with_attributes(tmp_path):
    study = write(tmp_path)
    before = frame.read(study).numbers
    add(study)
    after = frame.read(study).numbers
    assert METRIC not in set(after["metric"])
    pd.testing.assert_frame_equal(after, before)


def test_the_plot_has_the_medians_and_a_gap_where_a_value_has_few_examples(folder):
    _, lines = drawn(folder)
    marked = [line for line in lines if line.get_marker() in "os"]
    assert len(marked) == 2
    for line in marked:
        assert list(line.get_xdata()) == [0, 1, 2, 3]
        np.testing.assert_array_equal(line.get_ydata(), [1.0, np.nan, 0.5, 0.25])


def test_the_axis_has_the_label_of_the_attribute(folder):
    (axis,), _ = drawn(folder)
    assert (axis.get_xlabel(), axis.get_title()) == (LABEL, "length 8")
    assert all(tick == int(tick) for tick in axis.get_xticks())


def test_records_without_a_label_have_the_name_in_words(tmp_path):
    study = add(write(tmp_path, ("rope",), seeds=1), label=None)
    assert set(frame.read(study).attributes["attribute_label"]) == {"num ones"}


def test_each_task_has_an_axes(tmp_path):
    axes, _ = drawn(add(write(tmp_path, ("rope",), seeds=1, tasks=("copy", "reverse"))))
    assert [axis.get_title() for axis in axes] == ["copy, length 8", "reverse, length 8"]


@pytest.mark.slow
def test_a_study_has_a_plot_for_each_attribute(folder):
    names = {file.stem for file in plots.write(frame.read(folder), folder)}
    assert "by_num_ones" in names
