"""Records of earlier versions are read with the settings that came later."""

import json
import re

import pytest

from pe_lab.runs import config
from pe_lab.runs.errors import UserError
from pe_lab.runs.plugins import plugins
from pe_lab.runs.records import older_records, record_lines, records
from pe_lab.runs.settings.declarations import removed_settings
from pe_lab.runs.settings.evaluation_settings import Evaluate
from pe_lab.runs.settings.settings import Model
from tests import tiny
from tests.runs.records.small_records import record

GROUPS = {"model": Model, "evaluate": Evaluate}


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


REMOVED = [
    ("evaluate", "frozen", "folder"),
    ("model", "sink_token", True),
]  # settings that older records have


@pytest.mark.parametrize(("group", "name", "other"), REMOVED)
def test_a_removed_setting_is_read_at_the_value_that_every_run_has_now(
    tmp_path, group, name, other
):
    run = tiny.run("rope")
    values = run.to_dict()
    older = {**values[group], name: removed_settings(GROUPS[group])[name]}
    path = records.write(tmp_path, record(config={**values, group: older}))
    found = records.read(path)
    assert found["config"] == values
    assert config.from_dict(found["config"]).run_id == run.run_id
    changed = record(config={**values, group: {**older, name: other}})
    sentence = (
        f"has config.{group}.{name}={other!r}, a setting that this version of pe_lab does not have."
    )
    with pytest.raises(UserError, match=f"{re.escape(sentence)}$"):
        records.write(tmp_path, changed)
    path.write_text(record_lines.line({**changed, "schema_version": 8}))
    with pytest.raises(UserError, match=f"^{re.escape(str(path))} {re.escape(sentence)}$"):
        records.read(path)


@pytest.mark.parametrize(("group", "name", "other"), REMOVED)
def test_a_config_with_a_removed_setting_is_refused(group, name, other):
    values = tiny.run("rope").to_dict()
    values[group] = {**values[group], name: other}
    with pytest.raises(UserError, match=rf"^config\.{group} has no {name!r}\."):
        config.from_dict(values)


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
