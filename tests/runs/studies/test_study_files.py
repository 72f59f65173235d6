import json
import os

import pytest

from pe_lab.runs.errors import UserError
from pe_lab.runs.records import records
from pe_lab.runs.studies import study_files

ENTRIES = [
    ({"model.encodings": "rope", "seed": "0"}, "aa"),
    ({"model.encodings": "alibi", "seed": "0"}, "bb"),
]
OLDER = {"name": "a", "entries": [{"labels": {"model.encodings": "rope"}, "run_id": "aa"}]}


def changed(folder, **changes):
    """Replace keys of a study.json by hand; None removes a key."""
    path = folder / "study.json"
    content = json.loads(path.read_text()) | changes
    content = {key: value for key, value in content.items() if value is not None}
    path.write_text(json.dumps(content))


def test_what_is_written_is_read(tmp_path):
    analysis = {"question": "Why?"}
    study_files.write(tmp_path, "a", ENTRIES, analysis)
    study = study_files.read(tmp_path)
    assert study == study_files.StudyFile("a", ENTRIES, analysis)
    study_files.write(tmp_path, "a", ENTRIES, {})
    assert study_files.read(tmp_path) == study_files.StudyFile("a", ENTRIES, {})


def test_a_changed_label_is_refused_by_the_digest(tmp_path):
    study_files.write(tmp_path, "a", ENTRIES, {})
    path = tmp_path / "study.json"
    path.write_text(path.read_text().replace("rope", "xpos"))
    with pytest.raises(
        UserError,
        match=r"study\.json is damaged \(its content does not match its digest\): run the sweep "
        r"again to write it\.$",
    ):
        study_files.read(tmp_path)


@pytest.mark.parametrize("removed", ["digest", "schema_version"])
def test_a_file_cannot_lose_its_digest(tmp_path, removed):
    study_files.write(tmp_path, "a", ENTRIES, {})
    changed(tmp_path, **{removed: None})
    with pytest.raises(UserError, match="its content does not match its digest"):
        study_files.read(tmp_path)


def test_a_file_of_version_1_is_read_without_a_digest(tmp_path):
    (tmp_path / "study.json").write_text(json.dumps(OLDER))
    entries = [({"model.encodings": "rope"}, "aa")]
    study = study_files.read(tmp_path)
    assert (study.name, study.entries) == ("a", entries)


def test_a_study_that_was_tuned_in_two_stages_is_read_with_its_runs(tmp_path):
    study_files.write(tmp_path, "a", ENTRIES, {})
    content = json.loads((tmp_path / "study.json").read_text())
    content["tuning"] = {"axes": {"train.learning_rate": [1e-3, 3e-3]}, "choices": []}
    content["digest"] = records.digest(content)
    (tmp_path / "study.json").write_text(json.dumps(content))
    assert study_files.read(tmp_path) == study_files.StudyFile("a", ENTRIES, {})


def test_a_later_version_is_refused_and_is_no_damage(tmp_path):
    study_files.write(tmp_path, "a", ENTRIES, {})
    changed(tmp_path, schema_version=3)
    with pytest.raises(
        UserError, match=r"study\.json has schema_version 3; this pe_lab reads 1 to 2\.$"
    ):
        study_files.read(tmp_path)


DAMAGES = {
    "entries": [[], 5, [5], [{"labels": {}}], [{"labels": 5, "run_id": "a"}]],
    "analysis": [5, "x", [], {"tables": [5]}, {"tables": [{"metric": {"name": []}}]}],
    "name": [5, "a/b"],
}
CASES = [(key, value) for key, values in DAMAGES.items() for value in values]
CASES += [
    ("entries", [{"labels": {"seed": 5}, "run_id": "a"}]),
    ("entries", [{"labels": {"seed": "5"}, "run_id": "../../x"}]),
]


@pytest.mark.parametrize(("key", "value"), CASES, ids=map(repr, CASES))
def test_damage_of_a_file_without_a_digest_is_one_sentence(tmp_path, key, value):
    (tmp_path / "study.json").write_text(json.dumps(OLDER | {key: value}))
    with pytest.raises(UserError, match=r"^[^\n]*study\.json is damaged \([^\n]+$"):
        study_files.read(tmp_path)


@pytest.mark.parametrize("text", [b"", b"{", b"5", b"\xff", b"[" * 100_000, b'{"name": "a"}'])
def test_a_text_that_is_no_study_is_one_sentence(tmp_path, text):
    (tmp_path / "study.json").write_bytes(text)
    with pytest.raises(UserError, match=r"^[^\n]*study\.json is damaged \([^\n]+$"):
        study_files.read(tmp_path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "study.json")
    with pytest.raises(UserError, match=r"is damaged \(it is not a plain file\)"):
        study_files.read(tmp_path)


def test_an_older_analysis_spec_is_read_with_the_names_of_this_version(tmp_path):
    older = {
        "question": "Why?",
        "success": {"at": 1.5},
        "tables": [
            {"rows": "variant", "columns": "task", "metric": "learnt", "title": "learnt"},
            {"metric": {"name": "exact_match", "at": 2}},
            {"measures": ["success", {"name": "learnt", "label": "success"}, {"at": 2}]},
        ],
    }
    (tmp_path / "study.json").write_text(json.dumps(OLDER | {"analysis": older}))
    assert study_files.read(tmp_path).analysis == {
        "question": "Why?",
        "extrapolation": {"at": 1.5},
        "tables": [
            {"rows": "variant", "columns": "task", "metric": "solved", "title": "learnt"},
            {"metric": {"name": "exact_match", "at": 2}},
            {"measures": ["extrapolates", {"name": "solved", "label": "success"}, {"at": 2}]},
        ],
    }


def test_a_study_without_an_analysis_spec_has_an_empty_one(tmp_path):
    (tmp_path / "study.json").write_text(json.dumps(OLDER))
    assert study_files.read(tmp_path).analysis == {}
