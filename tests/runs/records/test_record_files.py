"""Records are written, replaced and read, each from a file of its own."""

import os
from pathlib import Path

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import record_rows, records
from pe_lab.runs.studies import study_files
from tests.runs.records.small_records import files, record


def test_what_is_written_is_read_with_its_version_and_digest(tmp_path):
    path = records.write(tmp_path, record())
    assert (
        path
        == records.path_of(tmp_path, "0123456789abcdef")
        == tmp_path / "records" / "0123456789abcdef.json"
    )
    assert records.read(path) == {
        **record(),
        "schema_version": 8,
        "digest": records.digest({**record(), "schema_version": 8}),
    }
    assert files(tmp_path) == ["0123456789abcdef.json"]


def test_a_record_replaces_the_older_one(tmp_path):
    records.write(tmp_path, record(status="failed"))
    path = records.write(tmp_path, record(status="finished"))
    assert (files(tmp_path), records.read(path)["status"]) == (
        ["0123456789abcdef.json"],
        "finished",
    )


@pytest.mark.parametrize(
    ("where", "error"),
    [("fsync", OSError("no space left")), ("replace", KeyboardInterrupt())],
    ids=["fsync", "replace"],
)
def test_an_interrupted_write_leaves_the_old_record_and_nothing_else(
    tmp_path, monkeypatch, where, error
):
    path = records.write(tmp_path, record())
    before = path.read_bytes()

    def fails(*args):
        raise error

    monkeypatch.setattr(os, where, fails)
    with pytest.raises(type(error)):
        records.write(tmp_path, record(status="failed"))
    assert (files(tmp_path), path.read_bytes()) == (["0123456789abcdef.json"], before)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_never_written(tmp_path, number):
    with pytest.raises(ValueError, match=f"is {number}, which is not finite"):
        records.write(
            tmp_path, record(rows=[record_rows.row("test", 8, 0, "exact_match", number, 128)])
        )
    with pytest.raises(ValueError, match=f"is {number}, which is not finite"):
        records.write_json(tmp_path / "group.json", {"learning_rate": number})
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "changed",
    [{k: v for k, v in record().items() if k != "cost"}, record(costs=None)],
    ids=["missing", "unknown"],
)
def test_a_record_with_other_keys_is_never_written(tmp_path, changed):
    with pytest.raises(
        AssertionError, match=r"a record has the keys \['costs?'\] too many or too few"
    ):
        records.write(tmp_path, changed)
    assert files(tmp_path) == []


@pytest.mark.parametrize(
    "config",
    [
        {"epsilon": 1},
        {"epsilon": {"a": 0, "curve": [1], "error": 2}},
        {"epsilon": {"a": 0, "rows": [1], "run_id": "x"}},
        {"epsilon": ', "rows": [{", "run_id": ', "x": {"a": 0, "rows": [3]}},
    ],
)
def test_a_head_is_the_record_without_its_rows_and_its_curve(tmp_path, config):
    curve = [{"step": 1, "loss": 2.0, "exact_match": {"8": 0.5}, "scale_ratio": []}]
    records.write(tmp_path, record(config=config, curve=curve, error='x, "rows": []'))
    (head,) = records.each(tmp_path, only_heads=True)
    (whole,) = records.each(tmp_path)
    assert whole["curve"] == curve
    assert head | {"rows": [], "curve": []} == whole | {"rows": [], "curve": []}
    if config == {"epsilon": 1}:
        assert (head["rows"], head["curve"]) == ([], [])


def test_the_digest_is_of_the_content_and_not_of_its_order_or_of_itself():
    assert records.digest({"a": 1, "b": 2}) == records.digest({"b": 2, "a": 1, "digest": "x"})
    assert records.digest({"a": 1}) != records.digest({"a": 2})


def test_all_records_of_a_study_are_read_by_run_id(tmp_path):
    for run_id in ("b", "a"):
        records.write(tmp_path, record(run_id, member={"seed": ord(run_id)}))
    (tmp_path / "records" / ".a.json.1234").write_text("a write that was killed", encoding="utf-8")
    assert {run_id: r["member"]["seed"] for run_id, r in records.read_all(tmp_path).items()} == {
        "a": 97,
        "b": 98,
    }


def test_a_folder_without_records_has_none(tmp_path):
    assert records.read_all(tmp_path) == {}


@pytest.mark.parametrize(
    ("study", "expected"),
    [("", "a/here"), ("other", "a/other"), ("/x/other", "/x/other"), ("b/c", "b/c")],
)
def test_a_studys_folder_is_this_one_one_beside_it_or_a_path(study, expected):
    assert study_files.folder_of(study, Path("a/here")) == Path(expected)


@pytest.mark.parametrize("name", ["", "../x", "/etc/x", "a/b", ".hidden", "a\\b", "a\0b"])
def test_a_name_cannot_leave_its_folder(name, tmp_path):
    with pytest.raises(UserError, match=r"is not the name of a run\.$"):
        records.path_of(tmp_path, name)


@pytest.mark.parametrize(
    ("exact_matches", "threshold", "expected"),
    [
        ([0.99, 0.99, 0.99], 0.99, True),  # their mean in floating point is less
        ([1.0, 0.98], 0.99, True),
        ([1.0, 0.979], 0.99, False),
        ([], 0.0, False),
    ],
)
def test_what_is_solved_reaches_the_threshold_in_the_mean(exact_matches, threshold, expected):
    assert records.solved(exact_matches, threshold) is expected
