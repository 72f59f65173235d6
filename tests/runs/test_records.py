import builtins
import errno
import gzip
import json
import os
import re
from pathlib import Path

import pytest

from pe_lab.runs import config, older_records, plugins, record_rows, records, study_files
from pe_lab.runs.errors import UserError
from tests import record_values, tiny


def record(run_id="0123456789abcdef", **changes):
    """A complete record, as small as they come."""
    return {
        "run_id": run_id,
        "config": {"optimizer": {"epsilon": 1e-08}, "note": "naïve"},
        "member": {"seed": 0},
        "status": "finished",
        "error": None,
        "rows": [
            record_rows.row("test", 8, 0, "exact_match", 0.5, 128),
            record_rows.row(
                "test",
                64,
                0,
                "exact_match",
                None,
                0,
                "learned has positions 0..17; length 64 asks for 129",
            ),
        ],
        "chance_levels": [],
        "curve": [],
        "cost": None,
        "exposure": None,
        "scale_ratio": None,
        "checkpoint": None,
        "provenance": {},
        **changes,
    }


def files(folder):
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


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
    with pytest.raises(ValueError, match="not JSON compliant"):
        records.write(
            tmp_path, record(rows=[record_rows.row("test", 8, 0, "exact_match", number, 128)])
        )
    with pytest.raises(ValueError, match="not JSON compliant"):
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


@pytest.mark.slow
def test_a_flipped_byte_in_a_record_is_refused_wherever_it_is(tmp_path):
    path = records.write(tmp_path, record())
    whole = path.read_bytes()
    version = whole.index(b'"schema_version": 8') + len('"schema_version": ')
    for i in range(len(whole)):
        path.write_bytes(whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :])
        reason = "has schema_version 9" if i == version else "is damaged"
        with pytest.raises(UserError, match=reason):
            records.read(path)


def test_a_changed_value_is_refused_by_the_digest(tmp_path):
    path = records.write(tmp_path, record())
    path.write_text(
        path.read_text(encoding="utf-8").replace('"value": 0.5', '"value": 0.6'), encoding="utf-8"
    )
    with pytest.raises(
        UserError,
        match=(
            r"is damaged \(its content does not match its digest\)\. The next sweep sets it "
            r"aside and runs it again\."
        ),
    ):
        records.read(path)


@pytest.mark.parametrize("number", ["NaN", "1e999"])
def test_a_number_that_is_not_finite_is_refused(tmp_path, number):
    path = records.write(tmp_path, record())
    path.write_text(
        path.read_text(encoding="utf-8").replace('"value": 0.5', f'"value": {number}'),
        encoding="utf-8",
    )
    with pytest.raises(UserError, match="is damaged"):
        records.read(path)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
def test_a_part_of_a_record_is_refused(tmp_path, share):
    path = records.write(tmp_path, record())
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(UserError, match=f"The record {path} is damaged"):
        records.read(path)


@pytest.mark.parametrize("text", ["[]", "3", '"digest"', "{}", '{"schema_version": 1}', "\xff"])
def test_json_that_is_no_record_is_refused(tmp_path, text):
    path = tmp_path / "x.json"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(UserError, match=f"The record {path} is damaged"):
        records.read(path)


@pytest.mark.parametrize("change", [{"cost": ...}, {"costs": 1}], ids=["missing", "unknown"])
def test_a_record_with_other_keys_is_refused_although_its_digest_is_right(tmp_path, change):
    path = records.write(tmp_path, record())
    changed = {k: v for k, v in {**records.read(path), **change}.items() if v is not ...}
    path.write_text(json.dumps({**changed, "digest": records.digest(changed)}), encoding="utf-8")
    with pytest.raises(UserError, match="is damaged"):
        records.read(path)


def of_version(folder, version, **changes):
    """The path of a record of a schema version."""
    older = {**record(**changes), "schema_version": version}
    path = records.path_of(folder, older["run_id"])
    records.write_json(path, {**older, "digest": records.digest(older)})
    return path


@pytest.mark.parametrize(
    ("version", "others"),
    [
        (1, ""),
        (2, ", and pe_lab 0.1.0 reads 2 to 8"),
        (5, ", and pe_lab 0.1.0 reads 2 to 8"),
        (9, ""),
        ("8", ""),
    ],
)
def test_another_schema_version_is_refused(tmp_path, version, others):
    sentence = f"has schema_version {version!r}; this pe_lab reads 6 to 8{others}."
    words = f"{re.escape(sentence)}$"
    with pytest.raises(UserError, match=words) as error:
        records.read(of_version(tmp_path, version))
    assert not isinstance(error.value, records.DamagedRecord)


def test_a_record_of_version_6_is_read_with_later_settings_and_stays_as_it_is(tmp_path):
    values = tiny.run("rope").to_dict()
    before = {key: value for key, value in values["model"].items() if key != "token_shift"}
    path = of_version(tmp_path, 6, config={**values, "model": before})
    content = path.read_bytes()
    found = records.read(path)
    assert found["config"] == values
    assert found["schema_version"] == 8
    assert path.read_bytes() == content


def test_a_record_of_this_version_from_before_a_setting_is_read_with_it(tmp_path):
    """A setting that is added within a version makes no record unreadable."""
    values = tiny.run("rope").to_dict()
    older = {**values, "model": dict(values["model"])}
    del older["model"]["convolution_sites"]
    path = records.write(tmp_path, record(config=older))
    found = records.read(path)
    assert found["config"] == values
    assert config.from_dict(found["config"]).run_id == tiny.run("rope").run_id
    records.write_archive(tmp_path / "published", [found])
    (again,) = records.read_all(tmp_path / "published").values()
    assert again["config"] == values


@pytest.mark.parametrize(
    ("encodings", "changes", "largest"),
    [
        (["rope"], {}, 17),
        (["rope", "alibi"], {}, 17),
        (["rope", "learned"], {}, 49),
        (["rope"], {"positions": {"name": "randomized", "maximum": 50}}, 49),
        (["rope"], {"init_from": {"study": "", "run_id": "a"}}, 49),
    ],
)
def test_before_version_8_the_largest_position_had_shifts_that_relative_encodings_ignore(
    tmp_path, encodings, changes, largest
):
    specs = [{"name": name, "reads_positions": True} for name in encodings]
    config = {
        "positions": {"name": "shifted", "max_shift": 32},
        "init_from": None,
        "model": {"encodings": specs},
        **changes,
    }
    path = of_version(tmp_path, 7, config=config, exposure={"max_position": 49})
    assert records.read(path)["exposure"]["max_position"] == largest


@pytest.mark.parametrize("name", older_records.RELATIVE)
def test_the_relative_encodings_of_older_records_declare_it(name):
    """Encodings that came later are not in the list, because they have no older records."""
    declared = plugins.find("encodings", name).requirements
    assert (declared.relative, declared.reads_positions, declared.num_axes) == (True, True, 1)


def test_a_changed_value_in_a_record_of_version_6_is_refused_by_its_own_digest(tmp_path):
    path = of_version(tmp_path, 6)
    path.write_text(path.read_text().replace('"value": 0.5', '"value": 0.6'))
    with pytest.raises(UserError, match="its content does not match its digest"):
        records.read(path)


@pytest.mark.parametrize("indent", [None, 1])
def test_a_record_in_another_form_is_read_by_the_digest_of_its_content(tmp_path, indent):
    """Published archives, and records before the third edition, have other spaces and orders."""
    path = records.write(tmp_path, record())
    content = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(content.items())), indent=indent))
    assert records.read(path) == content


def test_the_bytes_of_a_written_record_are_hashed_and_not_its_content(tmp_path, monkeypatch):
    path = records.write(tmp_path, record())
    records.write_archive(tmp_path / "published", [records.read(path)])
    monkeypatch.setattr(records, "digest", None)
    assert records.read(path)["run_id"] == record()["run_id"]
    assert list(records.read_all(tmp_path / "published")) == [record()["run_id"]]


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


def test_a_changed_row_is_damage_of_its_head(tmp_path):
    path = records.write(tmp_path, record())
    path.write_bytes(path.read_bytes().replace(b'"value": 0.5', b'"value": 0.6'))
    with pytest.raises(records.DamagedRecord, match="its content does not match its digest"):
        list(records.each(tmp_path, only_heads=True))


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


def test_one_damaged_record_among_others_is_named(tmp_path):
    records.write(tmp_path, record("a"))
    records.path_of(tmp_path, "b").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"records/b\.json is damaged"):
        records.read_all(tmp_path)


def _archived(folder, *run_ids):
    for run_id in run_ids:
        records.write(folder, record(run_id, member={"seed": ord(run_id)}))
    by_id = records.read_all(folder)
    (folder / "published").mkdir()
    return by_id, records.write_archive(folder / "published", reversed(by_id.values()))


def test_an_archive_is_read_like_the_folder_of_its_records(tmp_path):
    by_id, path = _archived(tmp_path, "b", "a")
    assert path == tmp_path / "published" / "records.jsonl.gz"
    assert records.read_all(path.parent) == by_id
    assert list(records.read_all(path.parent)) == ["a", "b"]
    assert records.read_run(path.parent, "a") == by_id["a"]
    assert records.read_run(path.parent, "c") is None
    assert records.exist(path.parent)
    assert not records.exist(path.parent.parent / "other")


def test_the_same_records_give_the_same_archive(tmp_path):
    by_id, path = _archived(tmp_path, "b", "a")
    before = path.read_bytes()
    records.write_archive(path.parent, by_id.values())
    assert path.read_bytes() == before
    assert before[4:8] == bytes(4)  # the time of a gzip file


def test_a_record_file_replaces_the_record_of_the_archive(tmp_path):
    _, path = _archived(tmp_path, "b", "a")
    records.write(path.parent, record("a", status="failed"))
    statuses = {run_id: r["status"] for run_id, r in records.read_all(path.parent).items()}
    assert statuses == {"a": "failed", "b": "finished"}
    assert records.read_run(path.parent, "a")["status"] == "failed"


def test_a_damaged_archive_is_refused(tmp_path):
    _, path = _archived(tmp_path, "b", "a")
    intact = path.read_bytes()
    path.write_bytes(intact[:-20])
    with pytest.raises(
        records.DamagedRecord, match=r"records\.jsonl\.gz are damaged .* Restore the file"
    ):
        records.read_all(path.parent)
    changed = gzip.decompress(intact).replace(b'"finished"', b'"diverged"', 1)
    path.write_bytes(gzip.compress(changed))
    with pytest.raises(records.DamagedRecord, match="its content does not match its digest"):
        records.read_all(path.parent)


@pytest.mark.parametrize("content", [b"", gzip.compress(b"")], ids=["no bytes", "no records"])
def test_an_empty_archive_is_damaged_and_does_not_read_as_no_records(tmp_path, content):
    _, path = _archived(tmp_path, "a")
    path.write_bytes(content)
    with pytest.raises(
        records.DamagedRecord, match=r"are damaged \(it is empty\)\. Restore the file"
    ):
        records.read_all(path.parent)


@pytest.mark.parametrize("where", ["fsync", "replace"])
def test_an_interrupted_write_leaves_the_old_archive(tmp_path, monkeypatch, where):
    by_id, path = _archived(tmp_path, "b", "a")
    before = path.read_bytes()

    def fails(*args):
        raise OSError("no space left")

    monkeypatch.setattr(os, where, fails)
    with pytest.raises(OSError, match="no space left"):
        records.write_archive(path.parent, [by_id["a"]])
    assert (files(path.parent), path.read_bytes()) == (["records.jsonl.gz"], before)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO, errno.ESTALE, errno.EACCES])
def test_an_error_of_the_machine_is_no_damage_of_a_record(tmp_path, monkeypatch, number):
    path = records.write(tmp_path, record())

    def fails(*args):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(builtins, "open", fails)
    with pytest.raises(
        UserError, match=rf"^{path} cannot be read \(.*{os.strerror(number)}\)\.$"
    ) as e:
        records.read_intact(tmp_path)
    assert not isinstance(e.value, records.DamagedRecord)


def test_a_folder_that_the_machine_cannot_read_is_not_empty(tmp_path, monkeypatch):
    records.write(tmp_path, record())

    def fails(path):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "listdir", fails)
    with pytest.raises(UserError, match=rf"^{tmp_path}/records cannot be read \("):
        records.read_all(tmp_path)


def test_a_pipe_and_deep_nesting_are_damaged_records(tmp_path):
    records.write(tmp_path, record("a"))
    os.mkfifo(records.path_of(tmp_path, "b"))
    records.path_of(tmp_path, "c").write_text("[" * 200_000)
    by_id, damaged = records.read_intact(tmp_path)
    assert list(by_id) == ["a"]
    assert [path.stem for path in damaged] == ["b", "c"]


def test_a_damaged_file_hides_the_older_record_of_the_archive(tmp_path):
    _, path = _archived(tmp_path, "b", "a")
    records.write(path.parent, record("a", status="failed")).write_text("{")
    by_id, damaged = records.read_intact(path.parent)
    assert (list(by_id), [file.stem for file in damaged]) == (["b"], ["a"])


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


@pytest.mark.parametrize(
    ("rows", "words"),
    [
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
    ],
)
def test_what_has_been_measured_is_never_overwritten(rows, words):
    before = record(
        rows=[
            *record()["rows"],
            record_rows.row(
                "test", 8, 2, "exact_match", 0.25, 32, override={**BARE, "label": "was"}
            ),
        ]
    )
    *new_rows, measured_row = rows
    after = record_rows.extended(before, rows)
    assert after["rows"] == [*before["rows"], *new_rows]
    assert str(record_rows.clash(before, measured_row)) == (
        f"The run 0123456789abcdef has {words}: nothing is overwritten. "
        f"With --only_missing, evaluate passes over such points."
    )


@pytest.mark.parametrize(
    ("study", "expected"),
    [("", "a/here"), ("other", "a/other"), ("/x/other", "/x/other"), ("b/c", "b/c")],
)
def test_a_studys_folder_is_this_one_one_beside_it_or_a_path(study, expected):
    assert study_files.folder_of(study, Path("a/here")) == Path(expected)


@pytest.mark.parametrize("name", ["", "../x", "/etc/x", "a/b", ".hidden", "a\\b", "a\0b"])
def test_a_name_cannot_leave_its_folder(name, tmp_path):
    with pytest.raises(UserError, match=r"is not the name of a run or a run group\.$"):
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
