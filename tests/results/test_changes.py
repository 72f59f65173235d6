"""Rows that were evaluated with a change: variants of their own, beside what was trained."""

import pytest

from pe_lab.results import tables
from pe_lab.runs.records import record_rows
from pe_lab.runs.studies import outcomes
from tests.results.fake_study import point, record, values
from tests.results.studies import as_dicts, cells, study

LINEAR, NORMALIZED = "rope(scaling=linear)", "normalized"


def changed(run, label, values, reveals=False, split="test"):
    """A record with exact match by length, or (length, offset), under a change."""
    override = {
        "label": label,
        "positions": {"name": label},
        "encodings": None,
        "reveals_target_length": reveals,
    }
    rows = []
    for place, value in values.items():
        length, offset = place if isinstance(place, tuple) else (place, 0)
        count, reason = (0, "beyond") if value is None else (100, None)
        of_value = ("exact_match", value, count, reason, override)
        rows.append(record_rows.row(split, length, offset, *of_value))
    return run | {"rows": run["rows"] + rows}


@pytest.fixture
def found(tmp_path):
    """RoPE with two seeds, one of them also evaluated with a scaling, both with normalized
    positions; ALiBi as trained.
    """
    zero = record("r0", 0, test={4: 1.0, 8: 0.5}, validation={4: 1.0}, chance_levels={4: 0.1})
    one = record("r1", 1, test={4: 0.9, 8: 0.3}, validation={4: 0.2})
    alibi = record("a0", 0, test={4: 0.8, 8: 0.7}, validation={4: 1.0})
    zero = changed(changed(zero, LINEAR, {4: 0.6, 16: 0.25}), NORMALIZED, {4: 0.1}, reveals=True)
    one = changed(one, NORMALIZED, {4: 0.3}, reveals=True)
    return study(
        tmp_path, (point("rope", 0), zero), (point("rope", 1), one), (point("alibi", 0), alibi)
    )


def test_each_variant_has_its_own_numbers_and_those_alone(found):
    names = [name for name in found.by_name if name != "alibi"]
    assert [[values(found, name, length) for length in (4, 8, 16)] for name in names] == [
        [[1.0, 0.9], [0.5, 0.3], [None, None]],
        [[0.6, None], [None, None], [0.25, None]],
        [[0.1, 0.3], [None, None], [None, None]],
    ]


def test_a_change_does_not_affect_what_is_solved(tmp_path):
    """Validation with a change, if there is any, does not count; and what is solved holds for every
    evaluation.
    """
    weak = record("w", 0, test={4: 0.0}, validation={4: 0.0})
    strong = record("s", 0, test={4: 1.0}, validation={4: 1.0})
    assert not outcomes.is_solved(changed(weak, LINEAR, {4: 1.0}, split="validation"))
    strong = changed(strong, LINEAR, {4: 0.0}, split="validation")
    assert outcomes.is_solved(strong)
    assert [*study(tmp_path, changed(strong, LINEAR, {4: 0.0})).variants["solved"]] == [1, 1]


def test_runs_are_counted_once_however_they_were_evaluated(found):
    assert [*found.runs["run_id"].unique()] == ["r0", "r1", "a0"]
    assert (found.missing, found.lengths, found.offsets) == (0, [4, 8, 16], [0])
    assert [*found.chance_levels["value"]] == [0.1, 0.5]


def test_positions_that_tell_the_length_mark_what_was_evaluated_with_them(found, tmp_path):
    assert list(found.variants["reveals_target_length"]) == [False, False, True, False]
    told = changed(record("t", 0, test={4: 1.0}, reveals=True), "contiguous", {4: 0.5})
    found = study(tmp_path / "other", told)
    assert list(found.variants["reveals_target_length"]) == [True, False]


def test_the_tables_show_every_change(found):
    made = {table.title: cells(table)[1:] for table in tables.of(found)}
    assert made["Exact match by length, median over seeds"] == [
        ["rope", "0/2 [0.00, 0.66]", "1/2", "0.95", "0.40", "–"],
        [f"rope, evaluated with {LINEAR}", "–", "1/2", "0.60", "–", "0.25"],
        [f"rope, evaluated with {NORMALIZED} †", "–", "1/2", "0.20", "–", "–"],
        ["alibi", "0/1 [0.00, 0.79]", "1/1", "0.80", "0.70", "–"],
        ["chance level (sees no prompt)", "", "", "0.10", "–", "–"],
    ]
    assert made["Exact match by length, every seed"][2:4] == [
        [f"rope, evaluated with {LINEAR}", "0", "finished", "0.60", "–", "0.25"],
        [f"rope, evaluated with {LINEAR}", "1", "finished", "–", "–", "–"],
    ]
    assert "†: reveals the target length" in tables.markdown(found)


def test_the_csv_has_rows_for_every_change(found):
    shown = ("variant", "evaluated with", "reveals_target_length", "mean", "run 0", "run 1")
    rows = [r for r in as_dicts(found) if (r["metric"], r["length"]) == ("exact_match", "4")]
    assert [tuple(row[name] for name in shown) for row in rows] == [
        ("rope", "", "False", "0.95", "1.0", "0.9"),
        (f"rope, evaluated with {LINEAR}", LINEAR, "False", "0.6", "0.6", ""),
        (f"rope, evaluated with {NORMALIZED}", NORMALIZED, "True", "0.2", "0.1", "0.3"),
        ("alibi", "", "False", "0.8", "0.8", ""),
    ]


def test_an_offset_that_was_measured_with_a_change_alone_has_its_table(tmp_path):
    run = changed(record("r", 0, test={4: 1.0}), LINEAR, {(4, 7): 0.5, (8, 7): None})
    found = study(tmp_path, run)
    assert (found.offsets, found.lengths) == ([0, 7], [4, 8])
    of_offsets = [[values(found, name, 4, offset) for name in found.by_name] for offset in (0, 7)]
    assert of_offsets == [[[1.0], [None]], [[None], [0.5]]]
    page = tables.markdown(found)
    assert "## Exact match by length, median over seeds, positions shifted by 7" in page


def test_a_run_that_answers_two_variants_is_changed_in_both(tmp_path):
    shared = changed(record("n", 0, test={4: 0.5}), LINEAR, {4: 0.25})
    schemes = ("contiguous", "shifted")
    found = study(tmp_path, *((point("nope", 0, positions=scheme), shared) for scheme in schemes))
    assert list(found.by_name) == [
        "contiguous",
        f"contiguous, evaluated with {LINEAR}",
        "shifted",
        f"shifted, evaluated with {LINEAR}",
    ]


def test_what_has_no_label_is_not_in_a_name(tmp_path):
    labels = [
        point("rope", 0, **{"train.steps": "", "init_from": ""}),
        point("rope, tuned", 0, **{"train.steps": "short", "init_from": ""}),
        point("", 0, **{"train.steps": ""}),
    ]
    runs = [record(name, test={4: 1.0}) for name in "abc"]
    found = study(tmp_path, *zip(labels, runs, strict=True))
    assert list(found.by_name) == ["rope", "rope, tuned · short", "fake"]
