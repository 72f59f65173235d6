"""The page of a study of text, alone and with other tasks."""

import pytest

from pe_lab.contrib.report import data, report_file
from pe_lab.results import frame, tables
from pe_lab.results.plots import plotted
from tests.browser import browser
from tests.contrib.report import pages
from tests.results.fake_study import point, record, row, write_study
from tests.results.studies import cells
from tests.results.test_text_study import BITS, folder_of, text_record

EXACT = {8: 1.0, 16: 0.5, 32: 0.25}


def mixed_folder(folder):
    """RoPE and ALiBi on a text and on copying, two seeds; copying is solved."""
    entries = []
    for name, bits in BITS.items():
        for seed in range(2):
            text_run = text_record(f"{name}text{seed}", seed, bits)
            copy_run = record(
                f"{name}copy{seed}", seed, test=EXACT, validation={8: 1.0}, max_length=8
            )
            copy_run["curve"] = [
                {"step": s, "loss": 1.0, "scale_ratio": [], "exact_match": {"8": s / 10}}
                for s in (0, 10)
            ]
            copy_run["rows"] += [row("negative_log_likelihood", n, 0.1) for n in EXACT]
            entries.append((point(name, seed, task="language_model"), text_run))
            entries.append((point(name, seed, task="copy"), copy_run))
    return write_study(folder, *entries)


def page_of(folder):
    study = frame.read(folder)
    run_records = report_file.records_of(study, folder)
    return data.of(plotted.of(study), run_records)


def test_a_text_of_a_mixed_study_has_bits_and_nothing_that_is_solved(tmp_path):
    page = page_of(mixed_folder(tmp_path))
    assert (page["has_text"], page["is_text"]) == (True, False)
    texts = [variant for variant in page["variants"] if variant["is_text"]]
    copies = [variant for variant in page["variants"] if not variant["is_text"]]
    assert [variant["task"] for variant in texts] == ["language_model"] * 2
    for variant in texts:
        exact = variant["values"]["exact_match"][0]
        assert [cell.keys() for cell in exact] == [{"w"}] * 3  # the reason alone
        assert variant["values"]["bits_per_token"][0][0]["c"] in (2.0, 2.1)
        assert variant["extrapolates"] == [0, 0]
    assert [cell["c"] for cell in copies[0]["values"]["exact_match"][0]] == [1.0, 0.5, 0.25]
    for run in page["runs"]:
        is_text = "text" in run["id"]
        assert run["solved"] == (None if is_text else True)
        assert run["curve"]["name"] == ("validation loss" if is_text else "exact match")
        assert run["curve"]["points"][0] == [0, 1.0, 2.0 if is_text else 0.0]
        assert ("solved_threshold" in run["exposure"]) != is_text


def test_tables_of_a_mixed_study_have_no_exact_match_and_no_steps_to_solve_of_a_text(tmp_path):
    study = frame.read(mixed_folder(tmp_path))
    by_title = {table.title: table for table in tables.of(study)}
    exact = cells(by_title["Exact match by length, mean ± standard deviation over seeds"])
    rows = {name: values for name, *values in exact[1:]}
    assert rows["rope · language_model"] == ["–"] * 4
    assert rows["rope · copy"] == ["2/2", "1.00 ± 0.00", "0.50 ± 0.00", "0.25 ± 0.00"]
    assert "chance level (sees no prompt)" in rows  # of copying alone
    budget = cells(by_title["Budget of a run"])
    steps = {values[0]: values[budget[0].index("steps to solve")] for values in budget[1:]}
    assert (steps["rope · language_model"], steps["rope · copy"]) == ("–", "10")


@pytest.fixture(scope="module")
def chromium():
    with browser() as started:
        yield started


def written(folder, monkeypatch):
    # Records that are made by hand have no config that could be downloaded.
    monkeypatch.setattr(report_file, "_downloads", lambda *arguments: {})
    return report_file.write(frame.read(folder), folder)


@pytest.mark.slow
def test_the_page_of_a_text_says_nothing_of_solving(chromium, tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    path = written(folder_of(tmp_path), monkeypatch)
    with pages.opened(chromium, path) as page:
        text = page.locator("body").inner_text()
        page.locator("#run-table button.show").first.press("Enter")
        page.wait_for_selector("#run-chart svg .mark-line path")
        text += page.locator("#run").inner_text()
    for absent in ("xact match", "solve", "extrapolates", "chance level"):
        assert absent not in text
    assert "its score is bits, and less is better" in text
    assert "validation loss" in text


@pytest.mark.slow
def test_the_page_of_a_mixed_study_says_which_task_has_bits(chromium, tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    path = written(mixed_folder(tmp_path), monkeypatch)
    with pages.opened(chromium, path) as page:
        options = page.locator("#task option").all_inner_texts()
        assert options == ["language_model (bits)", "copy (accuracy)"]
        assert (
            "it has nothing to solve. The other tasks have accuracies."
            in page.locator("header").inner_text()
        )
        runs = page.locator("#run-table tbody tr").all_inner_texts()
        solved = {line.split("\t")[0]: line.split("\t")[3] for line in runs}
        assert solved == {
            "language model · RoPE": "–",
            "copy · RoPE": "yes",
            "language model · ALiBi": "–",
            "copy · ALiBi": "yes",
        }
