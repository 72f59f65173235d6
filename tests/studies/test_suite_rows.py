"""The rows of the suite that pe_lab ships are those of the published records."""

import shutil
from pathlib import Path

import pytest

from docs.build import costs, suite_rows
from pe_lab.results import suite as suite_tables
from pe_lab.studies import suite

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_the_shipped_rows_are_not_stale(tmp_path):
    assert not suite_rows.is_stale(ROOT)
    for folder in (suite_rows.PUBLISHED, costs.FOLDER, suite_rows.FOLDER):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    assert not suite_rows.is_stale(tmp_path)
    (tmp_path / suite_rows.FOLDER / suite_tables.COST).write_text("[]", encoding="utf-8")
    assert suite_rows.is_stale(tmp_path)


@pytest.mark.slow
def test_the_shipped_scores_of_suite_grid_are_not_stale(tmp_path):
    assert not suite_rows.is_grid_stale(ROOT)
    shutil.copytree(ROOT / suite_rows.GRID, tmp_path / suite_rows.GRID)
    shipped = tmp_path / suite_rows.GRID_SCORES
    shipped.parent.mkdir(parents=True)
    shipped.write_text((ROOT / suite_rows.GRID_SCORES).read_text().replace("True", "False", 1))
    assert suite_rows.is_grid_stale(tmp_path)


@pytest.mark.slow
def test_the_shipped_rows_give_the_published_tables_in_any_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(ROOT)
    published = suite_tables.page_of_study(suite_rows.PUBLISHED, [costs.COSTS])
    monkeypatch.chdir(tmp_path)
    assert suite_tables.page_of_study(suite.ROWS) == published
