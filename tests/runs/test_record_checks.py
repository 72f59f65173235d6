import pytest

from pe_lab.runs import record_rows, records
from pe_lab.runs.errors import UserError
from pe_lab.training import run_records
from tests import tiny

ROW = record_rows.row("test", 8, 0, "exact_match", 0.5, 16)


def written(folder, **changes):
    """Write a record with these changes and a right digest."""
    record = run_records.blank(tiny.run("nope"))
    return records.write(folder, {**record, "status": "finished", "rows": [ROW], **changes})


def test_a_record_as_pe_lab_writes_it_is_read(tmp_path):
    assert records.read(written(tmp_path))["rows"] == [ROW]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"status": "great"}, "its status is 'great'"),
        ({"config": {}}, "its config is empty"),
        ({"config": 5}, "its config is not a JSON object"),
        ({"cost": [1]}, "its cost is not a JSON object"),
        ({"rows": 5}, "its rows are not a list of JSON objects"),
        ({"curve": [5]}, "its curve are not a list of JSON objects"),
        ({"rows": [{}]}, "a row should have the key 'count'"),
        ({"rows": [{**ROW, "value": "high"}]}, "the value of a row is 'high'"),
        ({"rows": [{**ROW, "value": 99.0}]}, "the exact_match of a row is 99.0"),
        ({"rows": [{**ROW, "value": True}]}, "the value of a row is True"),
    ],
)
def test_another_form_is_damage_in_one_sentence(tmp_path, changes, reason):
    path = written(tmp_path, **changes)
    with pytest.raises(UserError) as error:
        records.read(path)
    assert f"is damaged ({reason})" in str(error.value)
