"""Grids of evaluation overrides in tables, plots and the frame."""

import pytest

from pe_lab.contrib.prose.numbers import Prose
from pe_lab.results import (
    compare,
    declared_tables,
    frame,
    selection,
    table_summaries,
    tables,
)
from pe_lab.runs import grid
from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_rows, records
from tests.results.fake_study import point, record, write_study
from tests.results.studies import cells

DIGITS, LOOPS = "evaluated other_digits", "evaluated num_loops"


def overridden(spec, length, value):
    """A row of a record that was measured with an override."""
    override = {
        "label": spec["label"],
        "positions": None,
        "encodings": None,
        "axes": [list(pair) for pair in spec["axes"].items()],
        "reveals_target_length": False,
    }
    return record_rows.row("test", length, 0, "exact_match", value, 100, override=override)


def study(folder, axes, value, lengths=(4, 8), analysis=None):
    """Two encodings of two seeds; `value` gives exact match from the label and the length."""
    entries = []
    for encoding in ("rope", "alibi"):
        for seed in (0, 1):
            run = record(f"{encoding}{seed}", seed, test={4: 1.0, 8: 0.5}, validation={4: 1.0})
            for spec in grid.overrides(axes):
                for length in lengths:
                    run["rows"].append(overridden(spec, length, value(spec["label"], length)))
            entries.append((point(encoding, seed), run))
    return write_study(folder, *entries, analysis=analysis)


def by_digits(folder, **changes):
    def value(label, length):
        return int(label.rpartition("=")[2]) * length / 100

    return study(folder, {"task.other_digits": (1, 2, 10)}, value, **changes)


def evaluate(folder, label, length):
    """Add rows with an override that names no grid, as pe-lab evaluate does."""
    override = {"label": label, "positions": None, "encodings": None}
    override["reveals_target_length"] = False
    for run in records.read_all(folder).values():
        row = record_rows.row("test", length, 0, "exact_match", 0.7, 9, override=override)
        run["rows"].append(row)
        records.write(folder, run)


def test_a_point_that_is_measured_again_stays_in_its_grid(tmp_path):
    folder = by_digits(tmp_path)
    evaluate(folder, "other_digits=2", length=6)
    loaded = frame.read(folder)
    table = declared_tables.tables(loaded, table_summaries.specs(loaded)[0])[0]
    assert [row[0] for row in cells(table)[1:]] == ["1", "2", "10"]
    assert len(table_summaries.without_grids(loaded).variants) == 2
    assert Prose(loaded).variants == "2"
    measured = loaded.numbers
    assert set(measured[measured["override"] == "other_digits=2"][DIGITS]) == {"2"}


def test_a_declared_table_of_trained_variants_leaves_out_overrides(tmp_path):
    declared = {"tables": [{"rows": "model.encodings", "columns": "length"}]}
    folder = by_digits(tmp_path, analysis=declared)
    evaluate(folder, "num_loops=4", length=8)
    loaded = frame.read(folder)
    (table,) = declared_tables.tables(loaded, loaded.spec.tables[0])
    assert cells(table)[1:] == [["rope", "1.00", "0.50"], ["alibi", "1.00", "0.50"]]


def test_two_grids_may_share_an_axis(tmp_path):
    specs = grid.overrides({"num_loops": (1, 2)})
    specs += grid.overrides({"num_loops": (1, 2), "logit_temperature": ("none", "log_n")})
    entries = []
    for seed in (0, 1):
        run = record(f"rope{seed}", seed, test={4: 1.0}, validation={4: 1.0})
        run["rows"] += [overridden(spec, 4, 0.25) for spec in specs]
        entries.append((point("rope", seed), run))
    declared = {"tables": [{"rows": LOOPS, "columns": "length"}]}  # in place of the first one
    for analysis in (None, declared):
        loaded = frame.read(write_study(tmp_path, *entries, analysis=analysis))
        one_axis, two_axes = (
            declared_tables.tables(loaded, spec) for spec in table_summaries.specs(loaded)
        )
        assert [row[0].text for row in one_axis[0].rows] == ["1", "2"]
        assert cells(two_axes[0])[1] == ["1", "0.25", "0.25"]


def test_overrides_add_no_contrasts_to_the_declared_ones(tmp_path):
    contrasts = {"contrasts": [["rope", "alibi"]]}
    folder = by_digits(tmp_path, analysis=contrasts)
    study = frame.read(folder)
    (comparison,) = compare.contrasts(study)
    assert [*study.variants.loc[[comparison.a, comparison.b], "override"]] == ["", ""]


def test_the_overrides_of_a_grid_are_every_combination_of_its_values():
    first, *_, last = specs = grid.overrides({"task.operands": (2, 3), "num_loops": (1, 4)})
    assert len(specs) == 4
    assert first == {
        "label": "operands=2, num_loops=1",
        "axes": {"evaluated operands": "2", "evaluated num_loops": "1"},
        "task": {"operands": 2},
        "num_loops": 1,
    }
    assert (last["task"], last["num_loops"]) == ({"operands": 3}, 4)


def test_a_grid_of_one_axis_is_a_table_by_length_for_each_variant(tmp_path):
    loaded = frame.read(by_digits(tmp_path))
    (spec,) = table_summaries.specs(loaded)
    first, second = declared_tables.tables(loaded, spec)
    assert first.title.endswith("by evaluated other_digits and length, rope")
    assert second.title.endswith("alibi")
    # Rows are in the order of the numbers, and the evaluation as trained is not among them.
    assert cells(first) == [
        [DIGITS, "4", "→8"],
        ["1", "0.04", "0.08"],
        ["2", "0.08", "0.16"],
        ["10", "0.40", "0.80"],
    ]


def test_a_grid_of_two_axes_is_a_table_for_each_length(tmp_path):
    axes = {"task.other_digits": (1, 2), "num_loops": (1, 4)}
    loaded = frame.read(study(tmp_path, axes, lambda label, length: len(label) / 100))
    (spec,) = table_summaries.specs(loaded)
    assert (spec.rows, spec.columns) == ((DIGITS,), (LOOPS,))
    assert spec.each == ("model.encodings", "length")
    assert len(declared_tables.tables(loaded, spec)) == 4


def test_a_declared_table_takes_the_place_of_the_one_that_is_made(tmp_path):
    declared = dict(rows=DIGITS, columns="model.encodings", metric=dict(name="exact_match", at=2))
    loaded = frame.read(by_digits(tmp_path, analysis=dict(tables=[declared])))
    (spec,) = table_summaries.specs(loaded)
    (table,) = declared_tables.tables(loaded, spec)
    assert cells(table)[-1] == ["10", "0.80", "0.80"]


def test_points_of_a_grid_are_in_no_other_table(tmp_path):
    loaded = frame.read(by_digits(tmp_path))
    first, *others = tables.of(loaded)
    assert [row[0].text for row in first.rows[:-1]] == ["rope", "alibi"]
    with_digits = [table.title for table in others if DIGITS in table.header]
    assert len(with_digits) == 2
    assert "2 variants, 2 runs each, 4 in all" in tables.markdown(loaded)


def test_a_choice_by_validation_keeps_the_names_of_a_grids_points(tmp_path):
    entries = []
    for rate in ("0.1", "0.2"):
        run = record(rate, test={4: 1.0, 8: 0.5}, validation={4: 1.0})
        for spec in grid.overrides({"task.other_digits": (1, 2)}):
            run["rows"].append(overridden(spec, 8, 0.5))
        entries.append((point("rope", 0, **{"train.learning_rate": rate}), run))
    analysis = dict(tuned=["train.learning_rate"])
    loaded = frame.read(write_study(tmp_path, *entries, analysis=analysis))
    names = list(selection.choose(loaded).by_name)
    digits = [f"rope, evaluated with other_digits={digits}" for digits in (1, 2)]
    assert names == ["rope", *digits]


def test_an_unknown_axis_of_a_grid_is_refused(tmp_path):
    declared = dict(rows="evaluated digits", columns="length")
    with pytest.raises(UserError, match=r"has no 'evaluated digits'\. Did you mean 'evaluated o"):
        frame.read(by_digits(tmp_path, analysis=dict(tables=[declared])))


def test_the_frame_has_the_label_of_the_override(tmp_path):
    rows = frame.read(by_digits(tmp_path)).numbers
    labels = {f"other_digits={digits}" for digits in (1, 2, 10)}
    assert set(rows[rows["length"] == 8]["override"]) == {"", *labels}
    assert set(rows[DIGITS]) == {"", "1", "2", "10"}
