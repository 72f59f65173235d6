"""A record that is damaged or cannot be read is refused or named."""

import builtins
import errno
import json
import os

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from tests.runs.records.small_records import record


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


VALUE = b'"value": 0.5'
OTHER_DIGEST = (
    r"its content does not match its digest\)\. The next sweep sets it aside and trains what"
)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda whole: whole.replace(VALUE, b'"value": 0.6'), OTHER_DIGEST),
        (lambda whole: whole.replace(VALUE, b'"value": NaN'), ""),
        (lambda whole: whole.replace(VALUE, b'"value": 1e999'), ""),
        *((lambda whole, n=n: whole[: len(whole) * n // 10], "") for n in (0, 3, 9)),
        *(
            (lambda whole, text=text: text, "")
            for text in (b"[]", b"3", b'"digest"', b"{}", b'{"schema_version": 1}', b"\xff")
        ),
    ],
)
def test_another_content_is_damage(tmp_path, change, reason):
    path = records.write(tmp_path, record())
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(UserError, match=rf"^The record {path} is damaged \(.*{reason}"):
        records.read(path)


@pytest.mark.parametrize("change", [{"cost": ...}, {"costs": 1}], ids=["missing", "unknown"])
def test_a_record_with_other_keys_is_refused_although_its_digest_is_right(tmp_path, change):
    path = records.write(tmp_path, record())
    changed = {k: v for k, v in {**records.read(path), **change}.items() if v is not ...}
    path.write_text(json.dumps({**changed, "digest": records.digest(changed)}), encoding="utf-8")
    with pytest.raises(UserError, match="is damaged"):
        records.read(path)


def test_a_changed_row_is_damage_of_its_head(tmp_path):
    path = records.write(tmp_path, record())
    path.write_bytes(path.read_bytes().replace(b'"value": 0.5', b'"value": 0.6'))
    with pytest.raises(records.DamagedRecord, match="its content does not match its digest"):
        list(records.each(tmp_path, only_heads=True))


def test_one_damaged_record_among_others_is_named(tmp_path):
    records.write(tmp_path, record("a"))
    (tmp_path / "records" / "._a.json").write_bytes(b"macOS adds it to a copy")
    assert list(records.read_all(tmp_path)) == ["a"]
    records.path_of(tmp_path, "b").write_text("{", encoding="utf-8")
    with pytest.raises(UserError, match=r"records/b\.json is damaged"):
        records.read_all(tmp_path)


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
