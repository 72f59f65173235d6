"""A run is done when its record has all that is asked."""

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import evaluation_points
from pe_lab.runs.records.evaluation_points import is_done
from pe_lab.runs.records.record_rows import row
from tests.sweeps.expanded_studies import expand

BARE = {"label": "any", "positions": None, "encodings": []}


def measured(count=32, lengths=(8, 16), offsets=(0, 4), override=None):
    return [
        row("test", n, o, "exact_match", 0.5, count, override=override)
        for n in lengths
        for o in offsets
    ]


def validated(count=32, lengths=(8, 16)):
    return [row("validation", n, 0, "exact_match", 0.5, count) for n in lengths]


def null(length, offset):
    return row("test", length, offset, "exact_match", None, 0, "the table ends there")


@pytest.mark.parametrize(
    ("status", "rows", "done"),
    [
        ("finished", [*validated(), *measured()], True),
        ("finished", [*validated(), *measured(lengths=(4, 8, 16, 64))], True),  # more than is asked
        (
            "finished",
            [*validated(), *measured(lengths=(8,)), null(16, 0), null(16, 4)],
            True,
        ),  # nothing to measure there
        (
            "finished",
            [*validated(), *measured(), *measured(count=31, lengths=(9,))],
            True,
        ),  # a length that is not asked for
        ("finished", [*validated(), *measured(lengths=(8,))], False),
        ("finished", [*validated(), *measured(offsets=(0,))], False),
        ("finished", [*validated(lengths=(8,)), *measured()], False),
        ("finished", [*validated(), *measured(override=BARE)], False),
        ("finished", [], False),
        ("diverged", [], True),
        ("failed", [], False),
        ("failed", measured(), False),
    ],
)
def test_a_run_is_done_when_its_record_has_all_that_is_asked(status, rows, done):
    run = expand().runs[0]
    assert is_done(run, {"status": status, "rows": rows, "config": run.to_dict()}) is done


def test_a_run_is_done_when_it_has_what_is_asked_with_every_change_whatever_it_is_called():
    run = expand(overrides=[dict(encodings=(), label="bare")]).runs[0]
    points = evaluation_points.grid(run)
    # Validation; two test lengths at two offsets, as trained and with the override.
    assert len(points) == 2 + 2 * 2 * 2
    rows_of_points = [point.row("exact_match", 0.5, 32) for point in points]
    plain = [*validated(), *measured()]
    found = [
        {"status": "finished", "rows": rows, "config": run.to_dict()}
        for rows in (plain, [*plain, *measured(override=BARE)], rows_of_points)
    ]
    assert [is_done(run, each) for each in found] == [False, True, True]


@pytest.mark.parametrize(
    "rows", [[*validated(), *measured(count=31)], [*validated(count=31), *measured()]]
)
def test_a_run_measured_on_another_number_of_examples_is_refused(rows):
    run = expand().runs[0]
    words = (
        rf"^The run {run.run_id} has measured length 8 on 31 examples and this study asks "
        rf"for 32 examples: nothing is overwritten\.$"
    )
    with pytest.raises(UserError, match=words):
        is_done(run, {"status": "finished", "rows": rows, "config": run.to_dict()})


def test_a_run_without_a_record_is_not_done():
    assert is_done(expand().runs[0], None) is False
