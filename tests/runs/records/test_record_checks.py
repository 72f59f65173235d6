import json
import math

import numpy as np
import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_lines, record_rows, records
from pe_lab.runs.system import texts
from pe_lab.training import run_records
from tests import tiny

ROW = record_rows.row("test", 8, 0, "exact_match", 0.5, 16)
LIST = {**ROW, "metric": "first_error"}
OVERRIDE = {"label": "a", "num_loops": 2, "reveals_target_length": False}
WITH = {**ROW, "override": OVERRIDE}
UNNAMED = "the sources of its provenance are not digests by the name of a plugin"
AT_8 = "rows for exact_match at test length 8"


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
        ({"rows": [{**ROW, "value": [0.5]}]}, "the exact_match of a row is [0.5]"),
        ({"rows": [{**LIST, "value": [[1, "x"]]}]}, "the value of a row is [[1, 'x']]"),
        ({"rows": [{**ROW, "length": "8"}]}, "the length of a row is '8'"),
        ({"rows": [{**ROW, "split": ["test"]}]}, "the split of a row is ['test']"),
        ({"rows": [{**ROW, "override": {}}]}, "the override of a row is {}"),
        *(
            ({"provenance": {"sources": sources}}, UNNAMED)
            for sources in (["a"], 1, {"tasks/copy": 5}, {"tasks/copy": ["a"]})
        ),
        (
            {"provenance": {"jax_settings": []}},
            "the jax_settings of its provenance are not a JSON object",
        ),
        *(
            (
                {"provenance": {key: entries}},
                f"the {key} of its provenance is not a list of JSON objects",
            )
            for key in ("resumed", "evaluated")
            for entries in (5, ["x"])
        ),
        ({"rows": [{**ROW, "sources": 1}]}, "the sources of a row are 1"),
        ({"rows": [ROW, {**ROW, "value": 0.75}]}, f"it has two {AT_8}"),
        ({"rows": [ROW, {**ROW, "sources": {}}]}, f"it has two {AT_8}"),
        (
            {"rows": [WITH, {**WITH, "override": {**OVERRIDE, "num_loops": 3}}]},
            f"it has two {AT_8}",
        ),
        ({"chance_levels": [{"length": 8}] * 2}, "it has two chance levels for length 8"),
        ({"curve": [{"step": 4}, {"step": 4}]}, "its curve has two points at step 4"),
    ],
)
def test_another_form_is_damage_in_one_sentence(tmp_path, changes, reason):
    with pytest.raises(UserError, match="cannot be written: ") as error:
        written(tmp_path, **changes)
    assert str(error.value).endswith(f"cannot be written: {reason}.")
    path = written(tmp_path)
    text = json.dumps({**json.loads(path.read_text()), **changes})
    path.write_text(record_lines.line(json.loads(text)))
    with pytest.raises(UserError) as error:
        records.read(path)
    assert f"is damaged ({reason})" in str(error.value)


@pytest.mark.parametrize("text", ["\n", "\x1b[2J", "a\u2028b", "\u202e", "\\n"])
def test_an_override_is_found_again_by_its_arguments(tmp_path, text):
    task = {"name": "own:Task", "separator": text, text: [text]}
    encodings = [{"name": "own:Code", "words": {"a": text}}]
    override = {"label": f"a{text}", "task": task, "encodings": encodings, "axes": [["a", text]]}
    row = {**ROW, "override": override}
    (read_row,) = records.read(written(tmp_path, rows=[row]))["rows"]
    assert record_rows.point_key(read_row) == record_rows.point_key(row)
    shown = {"label": texts.printable(f"a{text}"), "axes": [["a", texts.printable(text)]]}
    assert read_row["override"] == override | shown


def test_rows_that_differ_in_one_part_of_their_point_are_no_repetition(tmp_path):
    changes = [
        *({"split": "validation"}, {"length": 9}, {"offset": 1}, {"override": OVERRIDE}),
        *({"override": {**OVERRIDE, "label": "b"}}, {"metric": "token_accuracy"}),
        *({"attribute": "depth"}, {"attribute": "width"}, {"sources": {"tasks/copy": "0" * 16}}),
    ]
    rows = [ROW, *({**ROW, **change} for change in changes)]
    assert records.read(written(tmp_path, rows=rows))["rows"] == rows


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"error": "no \udcff"}, "its error is 'no \\udcff', which is not valid Unicode"),
        ({"config": {"\udcff": 1}}, "its config is an object with the key '\\udcff', which"),
        ({"rows": [{**ROW, "value": math.nan}]}, "its rows[0].value is nan, which is not finite"),
        ({"rows": [{**ROW, "value": 1j}]}, "its rows[0].value is of the type complex"),
        ({"cost": {"steps": np.True_}}, "its cost.steps is of the type bool"),
    ],
)
def test_what_json_cannot_hold_is_named_and_leaves_the_record_of_before(tmp_path, changes, reason):
    before = written(tmp_path).read_bytes()
    with pytest.raises(UserError) as error:
        written(tmp_path, **changes)
    assert f"cannot be written: {reason}" in str(error.value)
    (path,) = (tmp_path / "records").iterdir()
    assert path.read_bytes() == before
