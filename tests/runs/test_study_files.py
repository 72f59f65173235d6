import json

from pe_lab.runs import study_files


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
    (tmp_path / "study.json").write_text(json.dumps({"name": "a", "analysis": older}))
    assert study_files.analysis_of(tmp_path) == {
        "question": "Why?",
        "extrapolation": {"at": 1.5},
        "tables": [
            {"rows": "variant", "columns": "task", "metric": "solved", "title": "learnt"},
            {"metric": {"name": "exact_match", "at": 2}},
            {"measures": ["extrapolates", {"name": "solved", "label": "success"}, {"at": 2}]},
        ],
    }


def test_a_study_without_an_analysis_spec_has_an_empty_one(tmp_path):
    (tmp_path / "study.json").write_text('{"name": "a", "entries": []}')
    assert study_files.analysis_of(tmp_path) == {}
