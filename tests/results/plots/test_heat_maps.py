"""Heat maps of grids of evaluation overrides."""

import pytest

from pe_lab.runs.records import records
from tests.results.plots.figures import caption
from tests.results.test_override_grids import study

AXES = {"task.other_digits": (1, 2, 10), "num_loops": (1, 4)}


@pytest.mark.slow
def test_a_grid_is_drawn_as_a_heat_map_with_named_axes(drawn, tmp_path):
    folder = study(tmp_path, AXES, lambda label, length: len(label) / 40, lengths=(8,))
    panels = [axis for axis in drawn(folder)["table_1"].axes if axis.images]
    assert [axis.get_title() for axis in panels] == ["RoPE · length 8", "ALiBi · length 8"]
    first = panels[0]
    # The label "other_digits=10, num_loops=1" has one more letter than the others.
    assert first.images[0].get_array().tolist() == [[27 / 40] * 2, [27 / 40] * 2, [28 / 40] * 2]
    # The panels share the axis of rows, which the figure labels once.
    names = (first.get_xlabel(), first.figure.get_supylabel())
    assert names == ("evaluated num loops", "evaluated other digits")
    assert [label.get_text() for label in first.get_yticklabels()] == ["1", "2", "10"]
    assert [axis.get_ylabel() for axis in panels] == ["", ""]


def test_panels_with_other_rows_have_their_own_labels(drawn, tmp_path):
    """RoPE was measured with 1, 2 and 10 digits, and ALiBi with 2 and 10."""
    folder = study(tmp_path, AXES, lambda label, length: 0.5, lengths=(8,))
    for run in records.read_all(folder).values():
        if run["run_id"].startswith("alibi"):
            rows = run["rows"]
            run["rows"] = [r for r in rows if "digits=1," not in str(r["override"])]
            records.write(folder, run)
    panels = [axis for axis in drawn(folder)["table_1"].axes if axis.images]
    rows = [[label.get_text() for label in axis.get_yticklabels()] for axis in panels]
    assert rows == [["1", "2", "10"], ["2", "10"]]


def test_signs_of_the_columns_are_explained(drawn, tmp_path):
    folder = study(tmp_path, {"num_loops": (1, 4)}, lambda label, length: 1.0)
    assert caption(drawn(folder)["table_1"]) == "Medians over seeds; → beyond training."
