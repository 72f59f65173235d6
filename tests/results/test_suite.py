"""The tables of the standard suite, from the records of several folders."""

import json

import pytest

from pe_lab.results import ranking, suite
from tests.results.fake_study import record, write_study

ANALYSIS = {
    "tuned": ["train.learning_rate"],
    "tables": [
        {
            "rows": "model.encodings",
            "columns": "task",
            "title": "At twice the training length",
            "metric": {"name": "exact_match", "at": 2, "show": "iqm"},
        },
        {"rows": "model.encodings", "columns": "task", "metric": "solved", "title": "Solved seeds"},
    ],
}
TASKS = ("copy", "sort")


def write(folder, rows, seeds=10, solved=1.0):
    """A study whose runs have exact match at twice the training length by encoding and task."""
    entries = []
    for encoding, of_tasks in rows.items():
        for task, far in of_tasks.items():
            for seed in range(seeds):
                labels = {
                    "model.encodings": encoding,
                    "task": task,
                    "train.learning_rate": "0.003",
                    "seed": str(seed),
                }
                value = far[seed % len(far)] if isinstance(far, tuple) else far
                run = record(
                    f"{encoding}-{task}-{seed}",
                    seed,
                    test={4: 1.0, 8: value},
                    validation={4: solved},
                    task=task,
                )
                entries.append((labels, run))
    folder.mkdir()
    return write_study(folder, *entries, name="suite", analysis=ANALYSIS)


@pytest.fixture
def published(tmp_path):
    rows = {
        "shaw": {"copy": 1.0, "sort": 1.0},
        "rope": {"copy": 0.5, "sort": 0.7},
        "alibi": {"copy": 0.2, "sort": 0.9},
    }
    return write(tmp_path / "published", rows)


def rows_of(table):
    return {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}


def tables(*folders, tasks=TASKS, seeds=10):
    return suite.tables(suite.merged(folders, tasks, seeds), {"rope": 1.04})


@pytest.mark.slow
def test_rows_of_two_folders_are_in_one_table_with_ranks_and_step_times(tmp_path, published):
    mine = write(tmp_path / "mine", {"my.module:Mine": {"copy": 0.4, "sort": 0.8}})
    table = tables(published, mine)[0]
    assert table.header[1:] == ("copy", "sort", "solved tasks", "mean rank", "step time")
    assert rows_of(table) == {
        "shaw": ["1.00 [1.00, 1.00]", "1.00 [1.00, 1.00]", "2/2", "1.0 [1.0, 1.0]", "–"],
        "rope": ["0.50 [0.50, 0.50]", "0.70 [0.70, 0.70]", "2/2", "3.0 [3.0, 3.0]", "1.04"],
        "alibi": ["0.20 [0.20, 0.20]", "0.90 [0.90, 0.90]", "2/2", "3.0 [3.0, 3.0]", "–"],
        "my.module:Mine": ["0.40 [0.40, 0.40]", "0.80 [0.80, 0.80]", "2/2", "3.0 [3.0, 3.0]", "–"],
    }


def test_a_rank_has_the_interval_over_seeds(tmp_path):
    """Half of b's seeds are above a and half are below, so b is first in some resamples only."""
    rows = {"a": {"copy": 0.5, "sort": 1.0}, "b": {"copy": (0.0, 0.0, 0.0, 0.9, 0.9), "sort": 0.0}}
    merged = suite.merged([write(tmp_path / "rows", rows)], TASKS, 10)
    rank = ranking.mean_ranks(merged)["b"]
    assert rank.mean == 2.0
    assert (rank.interval.low, rank.interval.high) == (1.5, 2.0)


def test_an_encoding_that_did_not_solve_a_task_has_no_rank(tmp_path, published):
    mine = write(tmp_path / "mine", {"mine": {"copy": 1.0, "sort": 1.0}}, solved=0.5)
    row = rows_of(tables(published, mine)[0])["mine"]
    assert row == ["1.00 [1.00, 1.00]*", "1.00 [1.00, 1.00]*", "0/2", "–", "–"]


def test_an_encoding_without_positions_for_a_task_has_a_dash_there_and_no_rank(tmp_path, published):
    mine = write(tmp_path / "mine", {"mine": {"copy": 1.0}})
    row = rows_of(tables(published, mine)[0])["mine"]
    assert row == ["1.00 [1.00, 1.00]", "–", "1/2", "–", "–"]


def test_quick_rows_are_compared_with_the_first_seeds_and_nothing_is_ranked(tmp_path, published):
    mine = write(tmp_path / "mine", {"mine": {"copy": (0.1, 0.2, 0.9)}}, seeds=3)
    merged = suite.merged([published, mine], ("copy",), 3)
    assert {len(variant.runs) for variant in merged.variants} == {3}
    table = suite.tables(merged, {})[0]
    assert table.header[1:] == ("copy", "solved tasks", "step time")
    assert rows_of(table)["mine"] == ["0.40", "1/1", "–"]


def test_the_first_folder_with_a_row_counts(tmp_path, published):
    again = write(tmp_path / "again", {"rope": {"copy": 0.0, "sort": 0.0}})
    assert rows_of(tables(published, again)[0])["rope"][0] == "0.50 [0.50, 0.50]"


def test_a_page_says_how_many_runs_are_missing(tmp_path, published):
    next(published.glob("records/rope-*")).unlink()
    page = suite.page([published], TASKS, 10, "A remark.")
    assert page.startswith("A remark.\n\nRuns of these rows without a record: 1.\n\n## At twice")
    assert "| rope" in page


def test_step_times_are_those_of_the_folders(tmp_path, published):
    figures = [{"label": "my.module:Mine", "times_first": 1.5}]
    (published / suite.COST).write_text(json.dumps(figures))
    times = suite.step_times([published, tmp_path])
    assert times["my.module:Mine"] == 1.5
    assert times["nope"] == pytest.approx(1.0, abs=0.05)  # published
