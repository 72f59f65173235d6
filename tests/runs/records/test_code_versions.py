"""Rows of several code versions in one record."""

import pytest

from pe_lab.runs.records import record_rows
from tests import record_values
from tests.results.fake_study import record

TRAINED = {"encodings/rope": "a", "tasks/copy": "t"}
CHANGED = TRAINED | {"encodings/rope": "b"}
OVERRIDE = {"encodings/alibi": "x", "tasks/copy": "t"}
ALIBI = {"label": "alibi", "positions": None, "encodings": [{"name": "alibi"}]}


def row(value, sources, override=None, metric="exact_match"):
    made = record_rows.row("test", 8, 0, metric, value, 100, override=override)
    return {**made, "sources": sources}


@pytest.fixture
def trained():
    return record("r0") | {"provenance": {"sources": TRAINED}}


def test_a_row_holds_the_digests_that_differ_from_training(trained):
    rows = [row(0.1, TRAINED), row(0.2, OVERRIDE, ALIBI)]
    stored = record_rows.extended(trained, rows)["rows"]
    assert [r["sources"] for r in stored] == [None, {"encodings/alibi": "x"}]
    assert record_rows.extended(trained, [row(0.3, CHANGED)])["rows"][0]["sources"] == {
        "encodings/rope": "b"
    }


def test_a_place_is_measured_once_for_each_version_of_the_code(trained):
    changed = record_rows.extended(trained, [row(0.1, CHANGED)])
    assert list(record_rows.measured_points(changed, TRAINED).values()) == []
    assert list(record_rows.measured_points(changed, CHANGED).values()) == [100]
    both = record_rows.extended(changed, [row(0.2, TRAINED)])
    assert [r["value"] for r in both["rows"]] == [0.1, 0.2]
    for sources in (TRAINED, CHANGED):
        assert record_rows.extended(both, [row(0.3, sources)]) == both


def test_the_rows_of_the_trained_code_are_shown_and_else_the_last_ones(trained):
    third = TRAINED | {"encodings/rope": "c"}
    changed = record_rows.extended(
        trained, [row(0.1, CHANGED), row(0.6, CHANGED, metric="token_accuracy")]
    )
    changed = record_rows.extended(changed, [row(None, third)])
    assert [r["value"] for r in record_rows.preferred_rows(changed)] == [None]
    assert record_rows.has_changed_rows(changed)
    both = record_rows.extended(changed, [row(0.2, TRAINED)])
    assert [r["value"] for r in record_rows.preferred_rows(both)] == [0.2]
    assert record_values.value(both, "test", 8, 0, "exact_match") == 0.2
    assert not record_rows.has_changed_rows(both)


def test_a_changed_override_is_compared_with_its_first_row(trained):
    measured = record_rows.extended(trained, [row(0.1, OVERRIDE, ALIBI)])
    assert record_rows.changed_sources(trained, OVERRIDE) == []
    assert record_rows.changed_sources(measured, OVERRIDE) == []
    assert record_rows.changed_sources(measured, OVERRIDE | {"encodings/alibi": "y"}) == [
        "encodings/alibi"
    ]
    assert not record_rows.has_changed_rows(measured)


def test_a_record_without_digests_knows_no_change():
    assert record_rows.changed_sources(record("r0"), CHANGED) == []
