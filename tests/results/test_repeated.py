"""Tables mark lengths whose test inputs training can draw."""

import pytest

from pe_lab.results import tables
from pe_lab.runs.records import record_rows
from tests.results import studies
from tests.results.fake_study import point, record
from tests.results.studies import cells, declared

NOTE = "§: training can draw some of the test inputs of this length."


def study(folder, overlap):
    """One run; `overlap` is the share of repeated inputs by length, None for an older record."""
    run = record("r", test={2: 1.0, 4: 1.0, 8: 0.5}, validation={4: 1.0})
    shares = (overlap or {}).items()
    run["rows"] += [record_rows.row("test", n, 0, "overlap", share, 100) for n, share in shares]
    return studies.study(folder, (point("rope", 0), run))


@pytest.mark.parametrize(
    ("overlap", "header", "is_noted"),
    [
        ({2: 1.0, 4: 0.1, 8: 0.0}, ["2§", "4§", "→8"], True),
        ({2: 1.0, 4: 0.0, 8: 0.2}, ["2§", "4", "→8§"], True),
        ({2: 0.0, 4: 0.0, 8: 0.0}, ["2", "4", "→8"], False),
        (None, ["2", "4", "→8"], False),
    ],
)
def test_headers_mark_lengths_with_repeated_inputs(tmp_path, overlap, header, is_noted):
    made = tables.of(study(tmp_path, overlap))
    by_length = [t for t in made if "by length" in t.title]
    assert len(by_length) == 4
    for table in by_length:
        assert list(table.header[-3:]) == header
        assert (NOTE in table.notes) == is_noted
    assert tables.markdown(study(tmp_path, overlap)).count(NOTE) == is_noted


@pytest.mark.parametrize(
    ("metric", "cell"),
    [
        (dict(name="exact_match", at=1), "1.00"),
        (dict(name="exact_match", length=2), "1.00§"),
        (dict(name="exact_match", lengths=(2, 4)), "1.00§"),
        (dict(name="exact_match", at=2), "0.50"),
        (dict(name="solved"), "1/1"),
    ],
)
def test_numbers_of_a_marked_length_are_marked_where_no_header_names_it(tmp_path, metric, cell):
    found = study(tmp_path, {2: 1.0, 4: 0.0, 8: 0.0})
    (table,) = declared(found, rows="variant", measures=(metric,))
    assert table.rows[0][1].text == cell
    assert (NOTE in table.notes) == cell.endswith("§")


def test_columns_of_lengths_are_marked_once(tmp_path):
    found = study(tmp_path, {2: 1.0, 4: 0.0, 8: 0.0})
    (table,) = declared(found, rows="variant", columns="length")
    assert cells(table) == [["variant", "2§", "4", "→8"], ["rope", "1.00", "1.00", "0.50"]]
    assert NOTE in table.notes
