"""The tables of the suite, from scores that pe_lab ships and from folders."""

import pandas as pd
import pytest

from pe_lab.contrib.grids import comparison, forms, suite_page, suite_tables
from pe_lab.results import formats, frame, read_analysis_spec
from pe_lab.runs.errors import UserError
from pe_lab.runs.settings.declarations import older_values
from pe_lab.runs.settings.evaluation_settings import Evaluate
from pe_lab.runs.settings.settings import Model, Train
from tests.contrib.grids.test_setting_tables import LOSSES, RATES, entry
from tests.results.fake_study import texts, write_study

ANALYSIS = {"tuned": ["train.learning_rate"]}
SPEC = read_analysis_spec.from_dict(ANALYSIS)
# Exact match at twice the length by rate. Published studies have a rate more than other rows.
COPY = {"shaw": (0.95, 1.0, 1.0, 0.0), "rope": (0.0, 0.1, 0.0, 1.0)}
SORT = {"shaw": (0.5, 0.5, 0.5, 0.5), "rope": (1.0, 1.0, 1.0, 1.0)}
MINE = {"copy": (0.0, 0.2, 0.95), "sort": (0.3, 0.3, 0.3)}
SETTINGS = {
    "task": {"name": "any"},
    "layout": {"name": "decoder", "end_token": True, "examples_per_context": 1},
    "positions": {"name": "contiguous"},
    "model": older_values(Model) | {"width": 64, "encodings": []},
    "train": older_values(Train) | {"steps": 100, "max_length": 4, "learning_rate": 0.1},
    "evaluate": older_values(Evaluate) | {"lengths": [4, 8], "offsets": [0]},
}


def settings(task, steps=100):
    train = SETTINGS["train"] | {"steps": steps}
    return SETTINGS | {"task": {"name": task}, "train": train}


def entries(encoding, task, values, *, seeds=3, steps=100, runs="", curve=(4,), **more):
    """The runs of an encoding on a task: labels and records."""
    rates, losses = (*RATES, "1.0"), (*LOSSES, 1e-2)
    for rate, value, loss in zip(rates, values, losses, strict=False):
        for seed in range(seeds):
            labels, run = entry(encoding, rate, seed, value, loss, **more)
            run["run_id"] += f"{task}{runs}"
            of_task = settings(task, steps)
            encodings = [{"name": encoding, "reads_positions": True}]
            run["config"] = of_task | {
                "seed": seed,
                "model": of_task["model"] | {"encodings": encodings},
                "evaluate": of_task["evaluate"] | {"curve_lengths": list(curve)},
            }
            yield labels | {"task": task}, run


def write(folder, *runs, name="suite", missing=()):
    """A study of runs, some of them without a record."""
    folder.mkdir()
    written = [(labels, run["run_id"] if run["run_id"] in missing else run) for labels, run in runs]
    return write_study(folder, *written, name=name, analysis=ANALYSIS)


def row(folder, label="mine", tasks=("copy", "sort"), *, name="suite", missing=(), **more):
    """A row in a folder."""
    runs = [run for task in tasks for run in entries(label, task, MINE[task], **more)]
    return write(folder, *runs, name=name, missing=missing)


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Scores as they are read from the file that pe_lab ships, of copy and sort."""
    file = tmp_path_factory.mktemp("published") / "scores.csv"
    whole = []
    for task, values in {"copy": COPY, "sort": SORT}.items():
        runs = [run for name in values for run in entries(name, task, values[name], seeds=6)]
        study = frame.read(write(file.parent / task, *runs, name=f"suite_grid_{task}"))
        whole.append(suite_tables.scores(study, {"rope": 1.04}))
    pd.concat(whole).to_csv(file, index=False)
    return suite_tables.read_scores(file)


def protocol(*tasks, name="suite"):
    rates = tuple(float(rate) for rate in RATES)
    return suite_tables.SuiteProtocol(name, {task: settings(task) for task in tasks}, rates, 3)


def page(published, *folders, tasks=("copy", "sort"), name="suite"):
    return suite_page.page(published, folders, protocol(*tasks, name=name), SPEC, "A remark.")


def tables(published, *folders, tasks=("copy", "sort")):
    rows = suite_tables.united(published, folders, protocol(*tasks))
    return suite_tables.tables(rows.scores, SPEC, tasks)


def test_several_tasks_have_a_table_for_each_number_with_a_column_for_each_task(
    tmp_path, published
):
    tasks = ("copy", "recall", "sort")
    runs, best, chosen, area = tables(published, row(tmp_path / "mine"), tasks=tasks)
    assert runs.header == ("variant", *tasks, "step time")
    assert texts(runs) == {
        "shaw": ["9/9", "–", "0/9", "–"],
        "rope": ["0/9", "–", "9/9", "1.04"],
        "mine": ["3/9", "–", "0/9", "–"],
    }
    assert best.header == chosen.header == area.header == ("variant", *tasks)
    assert texts(best)["mine"] == ["0.95", "–", "0.30"]
    assert texts(best)["rope"] == ["0.10", "–", "1.00"]
    # The second rate has the lowest loss.
    assert texts(chosen)["mine"] == ["0.20", "–", "0.30"]
    # The mean of both ends, 1 at the training length.
    assert texts(area)["mine"] == ["0.97", "–", "0.65"]


def test_a_single_task_has_one_table_with_all_numbers(tmp_path, published):
    (table,) = tables(published, row(tmp_path / "mine", tasks=["copy"]), tasks=["copy"])
    assert table.title == "At most, best and chosen learning rate"
    assert table.header[1:] == ("runs", "reliably", "best", "validation", "area")
    found = texts(table)
    assert [each[0] for each in found.values()] == ["9/9", "0/9", "3/9"]
    assert found["mine"][2:4] == ["0.95", "0.20"]


def test_a_bootstrap_of_three_seeds_is_left_out_with_a_note(tmp_path, published):
    (table,) = tables(published, row(tmp_path / "mine", tasks=["copy"]), tasks=["copy"])
    _, best, *_ = tables(published, row(tmp_path / "two"))
    assert table.notes[1] == "Other intervals: none with 3 seeds."
    assert best.notes[0] == "Intervals: none with 3 seeds."
    assert {cell.interval for row in best.rows for cell in row} == {None}


def test_a_row_without_a_task_has_a_dash_there(tmp_path, published):
    runs, *_ = tables(published, row(tmp_path / "mine", tasks=["sort"]))
    assert texts(runs)["mine"] == ["–", "0/9", "–"]


def test_a_number_of_which_no_run_is_solved_has_the_sign_and_its_note(tmp_path, published):
    mine = row(tmp_path / "mine", threshold=1.5)
    runs, best, *_ = tables(published, mine)
    assert texts(runs)["mine"] == ["0/0", "0/0", "–"]
    assert texts(best)["mine"] == ["0.95*", "0.30*"]
    assert any(note.startswith("*: no seed solved") for note in best.notes)


def test_a_diverged_run_counts_as_an_exact_match_of_zero(tmp_path, published):
    runs = list(entries("mine", "copy", (1.0, 0.0, 0.0)))
    diverged = runs[0][1]
    diverged |= {"status": "diverged", "error": "the loss is NaN", "rows": []}
    (table,) = tables(published, write(tmp_path / "mine", *runs), tasks=["copy"])
    numbers = texts(table)["mine"]
    assert numbers[0] == "2/8"
    # The best rate is chosen by one seed and scored by the two others. The diverged seed chooses
    # another rate, with a score of 0, and is half of the score of each other one.
    assert numbers[2].partition(" ")[0] == f"{(0 + 0.5 + 0.5) / 3:.2f}"


def test_a_row_that_reveals_the_target_length_has_the_sign_and_its_note(tmp_path, published):
    runs = list(entries("mine", "copy", MINE["copy"]))
    runs += entries("mine", "sort", MINE["sort"], reveals=True)
    text = page(published, write(tmp_path / "mine", *runs)).markdown
    assert text.count("\n| mine † ") == 4
    assert "- †: reveals the target length" in text


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"missing": {"mine0.012copy"}}, "8 of its 9 runs are finished"),
        ({"steps": 50}, "config.train.steps was 50 and is 100 now"),
    ],
)
def test_a_task_that_cannot_be_compared_is_named_with_the_reason(
    tmp_path, published, changed, reason
):
    mine = row(tmp_path / "mine", tasks=["copy"], **changed)
    text = page(published, mine).markdown
    assert text.startswith(
        f"A remark.\n\nmine is left out of copy: {reason}.\n\n## Runs that extrapolate\n"
    )
    assert "\n| mine " not in text


def test_a_row_without_some_runs_of_one_task_keeps_the_others(tmp_path, published):
    mine = row(tmp_path / "mine", missing={"mine0.012copy"})
    rows = suite_tables.united(published, [mine], protocol("copy", "sort"))
    assert rows.left_out == ("mine is left out of copy: 8 of its 9 runs are finished.",)
    runs, *_ = suite_tables.tables(rows.scores, SPEC, ["copy", "sort"])
    assert texts(runs)["mine"] == ["–", "0/9", "–"]


def test_other_lengths_of_the_training_curve_are_no_reason_to_leave_a_row_out(tmp_path, published):
    rows = suite_tables.united(published, [row(tmp_path / "mine", curve=(4, 6))], protocol("copy"))
    assert rows.left_out == ()
    assert "mine" in set(rows.scores["name"])


def test_quick_rows_are_left_out_of_the_complete_table(tmp_path, published):
    mine = row(tmp_path / "mine", tasks=["copy"], name="suite_quick")
    reason = "its study is suite_quick, and this table is of suite"
    assert f"\n\nmine is left out: {reason}.\n\n" in page(published, mine).markdown


def test_the_first_row_with_a_name_counts_and_one_with_other_runs_is_named(tmp_path, published):
    same = row(tmp_path / "same")
    other = row(tmp_path / "other", runs="b")
    rows = suite_tables.united(published, [same, same, other], protocol("copy", "sort"))
    reason = "the table has a row with this name and other runs"
    assert rows.left_out == (f"mine is left out: {reason}.",)
    of_mine = rows.scores[rows.scores["name"] == "mine"]
    assert len(of_mine) == 18
    assert not of_mine["run_id"].str.endswith("b").any()


def test_a_page_without_rows_has_the_remark_alone(published):
    empty = page(published.iloc[:0])
    assert (empty.markdown, empty.latex) == ("A remark.", "")


def test_rows_in_folders_need_no_published_ones(tmp_path, published):
    runs, *_ = tables(published.iloc[:0], row(tmp_path / "mine"))
    assert texts(runs) == {"mine": ["3/9", "0/9", "–"]}


def test_the_tables_of_a_page_are_latex_with_labels_too(tmp_path, published):
    latex = page(published, row(tmp_path / "mine")).latex
    assert latex.count(r"\begin{table}") == 5
    assert r"\label{tab:suite-runs-that-extrapolate}" in latex
    assert r"rope & 0/9 & 9/9 & 1.04" in latex
    assert r"copy & 3/9 [0.12, 0.65] & 0/9 [0.00, 0.42] \\" in latex


def test_the_step_time_of_a_row_is_in_its_folder(tmp_path, published):
    mine = row(tmp_path / "mine")
    (mine / suite_tables.COST).write_text('[{"label": "mine", "times_first": 1.5}]')
    runs, *_ = tables(published, mine)
    assert texts(runs)["mine"][-1] == "1.50"


def test_the_first_file_with_a_step_time_counts(tmp_path):
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text('[{"label": "rope", "times_first": 1.25}]')
    second.write_text('[{"label": "rope", "times_first": 1.5}]')
    assert suite_tables.step_times([first, second, tmp_path / "none.json"]) == {"rope": 1.25}


@pytest.mark.parametrize("content", ["", "5", "[{}]", '[{"label": "rope", "times_first": []}]'])
def test_a_damaged_file_of_step_times_is_named(tmp_path, content):
    file = tmp_path / "cost.json"
    file.write_text(content)
    with pytest.raises(UserError, match=r"cost\.json is damaged \(.+\): measure it again"):
        suite_tables.step_times([file])


def test_a_row_stands_beside_published_ones_by_the_rule_of_the_front_page(tmp_path, published):
    """Of the three rates and seeds that all have, and without tasks of which it has no runs."""
    tasks = ("copy", "recall", "sort")
    text = page(published, row(tmp_path / "mine"), tasks=tasks).markdown
    own = text.partition("\n## mine beside published rows\n")[2]
    assert [line for line in own.splitlines() if line.startswith("|")] == [
        "| task | mine             | rope             |",
        "|------|------------------|------------------|",
        "| copy | 3/9 [0.12, 0.65] | 0/9 [0.00, 0.42] |",
        "| sort | 0/9 [0.00, 0.42] | 9/9 [0.58, 1.00] |",
    ]
    assert own.endswith(
        "\n\nAt 2× the training length, mine has an exact match of at least 0.9 in 3 of 9 runs on "
        "copy (rope 0 of 9 runs), 0 of 9 runs on sort (rope 9 of 9 runs). Runs count that solve "
        "the training lengths, at 3 learning rates and 3 seeds."
    )


@pytest.mark.parametrize(
    ("name", "beside"),
    [("mine", ["rope", "alibi"]), ("rope", ["alibi", "nope"]), ("nope", ["rope", "alibi"])],
)
def test_the_table_has_four_columns_of_shipped_rows_and_fits_into_80(name, beside):
    runs = suite_tables.read_scores(forms.SCORES)
    runs = runs[runs["train.learning_rate"].astype(float).isin(forms.RATES) & (runs["seed"] < 3)]
    if name == "mine":
        mine = runs[runs["name"] == "fire"].assign(name="my_package.mine:Mine")
        name, runs = "my_package.mine:Mine", pd.concat([runs, mine])
    table = comparison.table(runs, name, SPEC, tuple(forms.FULL.tasks))
    assert table.header == ("task", name, *beside)
    assert max(map(len, formats.markdown(table).splitlines())) <= 80


def test_without_a_solved_run_a_row_has_a_dash(tmp_path, published):
    mine = row(tmp_path / "mine", tasks=["copy"], threshold=1.5)
    new = page(published, mine, tasks=["copy"])
    text = new.answer
    assert "\n| mine" not in text  # no line of the table of all rows
    assert "| copy | –    | 0/9 [0.00, 0.42] |" in text
    assert "A dash: none solves them." in text
    assert "nobody has measured it" not in text  # the other meaning of a dash
    assert "0.9 in no run on copy, because none solves it (rope 0 of 9 runs)." in text
