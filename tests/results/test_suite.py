"""The tables of the standard suite, from the records of several folders."""

import itertools

import pytest

from pe_lab.results import ranking, suite
from pe_lab.runs.declarations import older_values
from pe_lab.runs.evaluation_settings import Evaluate
from pe_lab.runs.settings import Model, Train
from tests.results.fake_study import point, record, texts, write_study

BY_TASK = {"rows": "model.encodings", "columns": "task"}
AT_TWO = {"name": "exact_match", "at": 2, "show": "iqm"}
ANALYSIS = {
    "tuned": ["train.learning_rate"],
    "tables": [
        BY_TASK | {"title": "At twice the training length", "metric": AT_TWO},
        BY_TASK | {"title": "Solved seeds", "metric": "solved"},
    ],
}
TASKS = ("copy", "sort")
SETTINGS = {
    "task": {"name": "any"},
    "layout": {"name": "decoder", "end_token": True, "examples_per_context": 1},
    "positions": {"name": "contiguous"},
    "model": older_values(Model) | {"width": 64, "encodings": []},
    "train": older_values(Train) | {"steps": 100, "max_length": 4, "learning_rate": 0.1},
    "evaluate": older_values(Evaluate) | {"lengths": [4, 8]},
}


def write(folder, rows, seeds=10, solved=1.0, *, name="suite", steps=100, runs=""):
    """A study whose runs have exact match at twice the training length by encoding and task."""
    entries = []
    for encoding, of_tasks in rows.items():
        for (task, far), seed in itertools.product(of_tasks.items(), range(seeds)):
            value = far[seed % len(far)] if isinstance(far, tuple) else far
            run = record(
                f"{encoding}-{task}-{seed}{runs}",
                seed,
                test={4: 1.0, 8: value},
                validation={4: solved},
                task=task,
            )
            run["config"] = config(encoding, task, seed, steps)
            more = {"task": task, "train.learning_rate": "0.003"}
            entries.append((point(encoding, seed, **more), run))
    folder.mkdir()
    return write_study(folder, *entries, name=name, analysis=ANALYSIS)


def settings(task, steps=100):
    train = SETTINGS["train"] | {"steps": steps}
    return SETTINGS | {"task": {"name": task}, "train": train}


def config(encoding, task, seed, steps):
    """The config of a run."""
    of_task = settings(task, steps)
    encodings = [{"name": encoding, "reads_positions": True}]
    return of_task | {"seed": seed, "model": of_task["model"] | {"encodings": encodings}}


def protocol(tasks=TASKS, seeds=10):
    return suite.SuiteProtocol("suite", {task: settings(task) for task in tasks}, seeds)


@pytest.fixture
def published(tmp_path):
    rows = {
        "shaw": {"copy": 1.0, "sort": 1.0},
        "rope": {"copy": 0.5, "sort": 0.7},
        "alibi": {"copy": 0.2, "sort": 0.9},
    }
    return write(tmp_path / "published", rows)


def tables(*folders):
    return suite.tables(suite.merged(folders, protocol()).study, 10, {"rope": 1.04})


@pytest.mark.slow
def test_rows_of_two_folders_are_in_one_table_with_ranks_and_step_times(tmp_path, published):
    mine = write(tmp_path / "mine", {"mine": {"copy": 0.4, "sort": 0.8}})
    table = tables(published, mine)[0]
    assert table.header[1:] == ("copy", "sort", "seeds", "solved tasks", "mean rank", "step time")
    assert texts(table) == {
        "shaw": ["1.00 [1.00, 1.00]", "1.00 [1.00, 1.00]", "10", "2/2", "1.0 [1.0, 1.0]", "–"],
        "rope": ["0.50 [0.50, 0.50]", "0.70 [0.70, 0.70]", "10", "2/2", "3.0 [3.0, 3.0]", "1.04"],
        "alibi": ["0.20 [0.20, 0.20]", "0.90 [0.90, 0.90]", "10", "2/2", "3.0 [3.0, 3.0]", "–"],
        "mine": ["0.40 [0.40, 0.40]", "0.80 [0.80, 0.80]", "10", "2/2", "3.0 [3.0, 3.0]", "–"],
    }


def test_a_rank_has_the_interval_over_seeds(tmp_path):
    """Half of b's seeds are above a and half are below, so b is first in some resamples only."""
    rows = {"a": {"copy": 0.5, "sort": 1.0}, "b": {"copy": (0.0, 0.0, 0.0, 0.9, 0.9), "sort": 0.0}}
    merged = suite.merged([write(tmp_path / "rows", rows)], protocol()).study
    rank = ranking.mean_ranks(merged)["b"]
    assert rank.mean == 2.0
    assert (rank.interval.low, rank.interval.high) == (1.5, 2.0)


def test_an_encoding_that_did_not_solve_a_task_has_no_rank(tmp_path, published):
    mine = write(tmp_path / "mine", {"mine": {"copy": 1.0, "sort": 1.0}}, solved=0.5)
    row = texts(tables(published, mine)[0])["mine"]
    assert row == ["1.00 [1.00, 1.00]*", "1.00 [1.00, 1.00]*", "10", "0/2", "–", "–"]


def test_an_encoding_without_positions_for_a_task_has_a_dash_there_and_no_rank(tmp_path, published):
    mine = write(tmp_path / "mine", {"mine": {"copy": 1.0}})
    row = texts(tables(published, mine)[0])["mine"]
    assert row == ["1.00 [1.00, 1.00]", "–", "10", "1/2", "–", "–"]


def test_a_form_with_fewer_seeds_takes_the_first_ones_and_ranks_nothing(tmp_path, published):
    mine = write(tmp_path / "mine", {"mine": {"copy": (0.1, 0.2, 0.9)}}, seeds=3)
    merged = suite.merged([published, mine], protocol(["copy"], 3)).study
    assert set(merged.variants["runs"]) == {3}
    table = suite.tables(merged, 3, {})[0]
    assert table.header[1:] == ("copy", "seeds", "solved tasks", "step time")
    assert texts(table)["mine"] == ["0.30", "3", "1/1", "–"]


def test_the_first_folder_with_a_row_counts_and_other_runs_are_named(tmp_path, published):
    rows = {"rope": {"copy": 0.0, "sort": 0.0}}
    same, other = write(tmp_path / "same", rows), write(tmp_path / "other", rows, runs="b")
    merged = suite.merged([published, same, other], protocol())
    assert texts(suite.tables(merged.study, 10, {})[0])["rope"][0] == "0.50 [0.50, 0.50]"
    reason = "the table has a row with this name and other runs"
    assert merged.left_out == (f"rope in {other} is left out of copy, sort: {reason}.",)


def test_rows_with_other_settings_are_left_out_and_named_with_the_difference(tmp_path, published):
    mine = write(tmp_path / "mine", {"mine": {"copy": 0.4, "sort": 0.8}}, steps=50)
    rows = suite.merged([published, mine], protocol())
    assert "mine" not in set(rows.study.variants["model.encodings"])
    assert rows.left_out == (
        f"mine in {mine} is left out of copy, sort: config.train.steps was 50 and is 100 now.",
    )
    page = suite.page([published, mine], protocol(), "").markdown
    assert page.startswith(f"{rows.left_out[0]}\n\n## At twice")
    assert "| mine" not in page


def test_quick_rows_are_left_out_of_the_complete_table(tmp_path):
    quick = write(tmp_path / "mine", {"mine": {"copy": 0.4}}, seeds=3, name="suite_quick")
    assert suite.page([quick], protocol(), "A remark.").markdown == (
        f"A remark.\n\nmine in {quick} is left out of copy: its study is suite_quick, and this "
        f"table is of suite."
    )


def test_a_page_does_not_claim_that_it_shows_every_seed(tmp_path):
    folder = write(tmp_path / "rows", {"mine": {"copy": 0.4}}, 3)
    page = suite.page([folder], protocol(), "").markdown
    assert "- Intervals [in brackets]: none for 3 seeds.\n" in page


def test_the_page_of_one_study_has_all_of_its_rows(published):
    page = suite.page_of_study(published)
    assert page == suite.page([published], protocol(), "").markdown
    assert all(f"\n| {name} " in page for name in ("shaw", "rope", "alibi"))


def test_a_page_says_how_many_runs_are_missing(tmp_path, published):
    next(published.glob("records/rope-*")).unlink()
    page = suite.page([published], protocol(), "A remark.").markdown
    assert page.startswith("A remark.\n\nRuns of these rows without a record: 1.\n\n## At twice")
    assert "| rope" in page


def test_a_row_says_how_many_seeds_it_has_and_whether_it_is_unfinished(tmp_path, published):
    """Of rope, one run of one task is left; of mine, all but the first seed of each task."""
    next(published.glob("records/rope-copy-*")).unlink()
    mine = write(tmp_path / "mine", {"mine": {"copy": 0.4, "sort": 0.8}}, seeds=1)
    table = tables(published, mine)[0]
    seeds = {name: cells[table.header.index("seeds") - 1] for name, cells in texts(table).items()}
    assert seeds == {
        "shaw": "10",
        "alibi": "10",
        "rope": "9 to 10 of 10, unfinished",
        "mine": "1 of 10, unfinished",
    }
    assert any("*unfinished*: more runs follow" in note for note in table.notes)


def test_the_tables_of_a_page_are_latex_with_labels_too(published):
    latex = suite.page([published], protocol(), "").latex
    assert latex.count(r"\begin{table}") == 2
    assert r"\label{tab:suite-at-twice-the-training-length}" in latex
    assert r"shaw & 1.00 [1.00, 1.00] & 1.00 [1.00, 1.00] & 10 & 2/2" in latex


def test_the_first_file_with_a_step_time_counts(tmp_path, published):
    measured, costs = published / suite.COST, tmp_path / "costs.json"
    measured.write_text('[{"label": "rope", "times_first": 1.5}]')
    costs.write_text('[{"label": "rope", "times_first": 1.25}]')
    assert suite.step_times([costs, measured, tmp_path / "none.json"]) == {"rope": 1.25}
    assert "| 1.25 " in suite.page([published], protocol(), "", [costs]).markdown
    assert "| 1.50 " in suite.page([published], protocol(), "").markdown
