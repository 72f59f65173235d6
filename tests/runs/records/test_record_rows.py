"""Rows of a record say what was measured where, and are never overwritten."""

import json

import pytest

from pe_lab.runs.records import record_rows
from tests import record_values
from tests.runs.records.small_records import record


def test_a_row_says_what_was_measured_where_and_on_how_many_examples():
    assert record_rows.row("test", 8, 2, "exact_match", None, 0, "why") == {
        "split": "test",
        "length": 8,
        "offset": 2,
        "override": None,
        "metric": "exact_match",
        "value": None,
        "count": 0,
        "reason": "why",
        "sources": None,
    }


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (("test", 8, 0, "exact_match"), 0.5),
        (("test", 64, 0, "exact_match"), None),  # null, with a reason
        (("validation", 8, 0, "exact_match"), None),
        (("test", 9, 0, "exact_match"), None),
        (("test", 8, 1, "exact_match"), None),
        (("test", 8, 0, "token_accuracy"), None),
    ],
)
def test_a_value_is_found_by_split_length_offset_and_metric(place, expected):
    assert record_values.value(record(), *place) == expected


BARE = {"label": "bare", "positions": None, "encodings": []}


def test_a_value_measured_with_a_change_is_found_by_its_label_alone():
    changed = record(
        rows=[
            *record()["rows"],
            record_rows.row("test", 8, 0, "exact_match", 0.25, 128, override=BARE),
        ]
    )
    assert record_values.value(changed, "test", 8, 0, "exact_match") == 0.5
    assert record_values.value(changed, "test", 8, 0, "exact_match", "bare") == 0.25
    assert record_values.value(changed, "test", 8, 0, "exact_match", "others") is None


def test_a_record_knows_every_place_that_it_has_measured_and_on_how_many_examples():
    rows = [
        record_rows.row("test", 8, 0, "exact_match", 0.5, 128),
        record_rows.row("test", 8, 0, "first_error", [1], 128),
        record_rows.row("test", 8, 4, "exact_match", None, 0, "why"),
        record_rows.row("test", 8, 0, "exact_match", 0.25, 64, override=BARE),
        record_rows.row("test", 8, 0, "by", [[1, 128, 3]], 128, attribute="num_ones"),
    ]
    bare = json.dumps({"encodings": [], "positions": None})
    assert record_rows.measured_points(record(rows=rows)) == {
        ("test", 8, 0, "null", None): 128,
        ("test", 8, 4, "null", None): 0,
        ("test", 8, 0, bare, None): 64,
        ("test", 8, 0, "null", "num_ones"): 128,
    }


def test_what_a_change_is_called_or_said_to_tell_is_no_other_place():
    one, other = (
        record_rows.row("test", 8, 0, "exact_match", 0.5, 128, override={**BARE, **more})
        for more in ({}, {"label": "naked", "reveals_target_length": True})
    )
    assert record_rows.point_key(one) == record_rows.point_key(other)


def test_a_record_is_extended_by_rows_of_new_places_and_chance_levels_of_new_lengths():
    chance_level = {"length": 8, "exact_match": 0.1, "count": 100}
    before = record(chance_levels=[chance_level])
    new = [
        record_rows.row("test", 8, 4, "exact_match", 0.75, 128),
        record_rows.row("test", 8, 4, "token_accuracy", 0.9, 128),
    ]
    after = record_rows.extended(
        before, new, [{**chance_level, "exact_match": 0.9}, {**chance_level, "length": 16}]
    )
    assert after == {
        **before,
        "rows": [*before["rows"], *new],
        "chance_levels": [chance_level, {**chance_level, "length": 16}],
    }
    assert before == record(chance_levels=[chance_level])  # as it was


# Rows whose last one is measured already, and what the refusal says of it.
MEASURED_AGAIN = [
    (
        [record_rows.row("test", 8, 0, "exact_match", 0.9, 64)],
        "measured test length 8 at offset 0 already, on 128 examples",
    ),
    (
        [record_rows.row("test", 8, 0, "another", 0.9, 64)],
        "measured test length 8 at offset 0 already, on 128 examples",
    ),
    (
        [record_rows.row("test", 64, 0, "exact_match", 0.9, 64)],
        "measured test length 64 at offset 0 already, on 0 examples",
    ),
    (
        [
            record_rows.row("test", 9, 0, "exact_match", 0.9, 64),
            record_rows.row("test", 8, 2, "exact_match", 0.9, 64, override=BARE),
        ],
        "measured test length 8 at offset 2 with bare already, on 32 examples",
    ),
]


def with_an_override():
    """A record that has, at length 8 and offset 2, a row with the override under another label."""
    row = record_rows.row("test", 8, 2, "exact_match", 0.25, 32, override={**BARE, "label": "was"})
    return record(rows=[*record()["rows"], row])


@pytest.mark.parametrize("rows", [rows for rows, _ in MEASURED_AGAIN])
def test_what_has_been_measured_is_never_overwritten(rows):
    before = with_an_override()
    *new_rows, _ = rows
    after = record_rows.extended(before, rows)
    assert after["rows"] == [*before["rows"], *new_rows]
