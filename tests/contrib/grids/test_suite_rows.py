"""The rows of the suite that pe_lab ships are those of the published records."""

import shutil
from pathlib import Path

import pandas as pd
import pytest

from docs.build import costs, suite_rows
from pe_lab.cli import _studies
from pe_lab.contrib.grids import forms, suite_tables
from pe_lab.results import frame
from pe_lab.studies import suite_grid as config

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
def test_the_shipped_scores_are_not_stale(tmp_path):
    assert not suite_rows.is_stale(ROOT)
    for folder in (*suite_rows.FOLDERS.values(), costs.FOLDER):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    shipped = tmp_path / suite_rows.SCORES
    shipped.parent.mkdir(parents=True)
    shipped.write_text((ROOT / suite_rows.SCORES).read_text().replace("True", "False", 1))
    assert suite_rows.is_stale(tmp_path)
    suite_rows.write(tmp_path)
    assert shipped.read_bytes() == (ROOT / suite_rows.SCORES).read_bytes()


def test_what_a_killed_replacement_leaves_is_no_row(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("mine", ".mine.before", ".mine.new"):
        for folder in (suite_rows.ADDED, Path("results")):
            (folder / name).mkdir(parents=True)
            (folder / name / "study.json").touch()
    monkeypatch.setattr(suite_rows, "FOLDERS", {})
    monkeypatch.setattr(frame, "read", lambda folder: folder)
    scores = lambda study, _: pd.DataFrame({"name": [study.name]})
    monkeypatch.setattr(suite_tables, "scores", scores)
    assert suite_rows._scores(tmp_path) == "name\nmine\n"
    assert list(_studies.folders()) == ["mine"]


def test_the_shipped_rows_of_pe_lab_have_every_rate_and_seed_and_a_task_of_the_suite():
    scores = suite_tables.read_scores(forms.SCORES)
    assert set(scores["task"]) <= set(config.TASKS)
    assert scores["task"].nunique() >= len(suite_rows.FOLDERS)
    sizes = scores.groupby(["name", "task"]).size()
    assert set(sizes) <= {len(config.RATES) * config.SEEDS, len(forms.RATES) * forms.SEEDS}
