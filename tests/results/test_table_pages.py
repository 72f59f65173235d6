"""A page explains the tables of a study, and a CSV file holds all their numbers."""

import pytest

from pe_lab.results import formats, frame, tables
from tests.results import synthetic
from tests.results.fake_study import point, record, two_variants
from tests.results.studies import as_dicts, cells, study


@pytest.fixture
def found(tmp_path):
    return frame.read(two_variants(tmp_path))


def test_the_csv_holds_every_number_of_every_run_in_full(found):
    columns = ("variant", "length", "mean", "median", "run 0", "run 1", "run 2")
    rows = [row for row in as_dicts(found) if row["metric"] == "exact_match"]
    assert [tuple(row[column] for column in columns) for row in rows] == [
        ("rope", "4", "0.998", "0.998", "1.0", "0.996", ""),
        ("rope", "8", "0.4", "0.4", "0.5", "0.3", ""),
        ("alibi", "4", "0.5", "0.5", "", "0.5", ""),
    ]
    counts = {"runs": "3", "finished": "2", "solved": "1", "extrapolates": "0"}
    assert counts | {"known_outcomes": "3", "reveals_target_length": "False"} == {
        name: rows[0][name] for name in (*counts, "known_outcomes", "reveals_target_length")
    }


def test_the_csv_has_the_axes_of_the_sweep_and_says_what_was_chosen(tmp_path):
    analysis = {"tuned": ["train.learning_rate"]}
    folder = synthetic.write(
        tmp_path, tasks=(), schemes=(), encodings=("rope",), seeds=2, analysis=analysis
    )
    rows = {(r["train.learning_rate"], r["chosen"]) for r in as_dicts(frame.read(folder))}
    assert rows == {("0.001", "False"), ("0.003", "True"), ("0.01", "False")}


def test_the_page_has_the_question_and_counts_runs_without_a_record(tmp_path):
    run = record("r0", test={4: 1.0})
    entries = [(point("rope", 0), run), *((point("rope", n), f"r{n}") for n in (0, 3, 4))]
    page = tables.markdown(study(tmp_path, *entries, question="Why so long?"))
    assert page.startswith(
        "# fake: exact match by length\n\nWhy so long?\n\n"
        "1 variant, 1 run each, 1 in all; lengths are in symbols, training ended at 4. "
        "2 runs have no record yet. *Notes*, at the end, explains signs and intervals.\n"
    )
    assert "†" not in page


def test_a_complete_study_says_nothing_of_missing_records(tmp_path):
    assert "no record yet" not in tables.markdown(study(tmp_path, record("r", test={4: 1.0})))


@pytest.mark.slow
def test_every_note_stands_on_the_page_once(tmp_path):
    found = frame.read(synthetic.write(tmp_path, seeds=2, rates=(), tasks=()))
    page = tables.markdown(found)
    notes = {note for table in tables.of(found) for note in table.notes}
    assert len(notes) > 5
    assert {page.count(note) for note in notes} == {1}


def test_what_knows_the_targets_length_carries_a_dagger_that_is_explained(tmp_path):
    runs = [record(n, test={4: 1.0}, validation={4: 1.0}, reveals=n == "a") for n in "ab"]
    found = study(tmp_path, *runs)
    assert [row[0] for row in cells(tables.of(found)[0])[1:3]] == ["e0 †", "e1"]
    assert (
        "- †: reveals the target length to the model, by its positions or its layout; "
        "not to be ranked with the others."
    ) in tables.markdown(found)
    marks = {row["variant"]: row["reveals_target_length"] for row in as_dicts(found)}
    assert marks == {"e0": "True", "e1": "False"}


def test_pages_are_written_and_the_first_table_is_returned(found, tmp_path):
    assert tables.write(found, tmp_path) == formats.markdown(tables.of(found)[0])
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == tables.markdown(found)
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == tables.as_csv(found)
    assert (tmp_path / "table.tex").read_text(encoding="utf-8") == tables.latex(found)


def test_no_label_question_or_error_is_markup_or_a_formula(tmp_path):
    label, formula = "<img src=x onerror=alert(1)> [a](javascript:alert(1))", "=HYPERLINK(1)"
    entries = []
    for name, value in ((label, 0.5), (formula, 0.2)):
        run = record(f"r{value}", test={4: 1.0, 8: value}, validation={4: 1.0})
        entries.append((point(name, 0), run))
    found = study(tmp_path, *entries, question=label, contrasts=[[label, formula]])
    page, text = tables.markdown(found), tables.as_csv(found)
    assert page.count("&lt;img src=x") > 3
    assert "<img" not in page
    assert "](" not in page
    assert "'=HYPERLINK(1)," in text
    assert not any(cell.startswith("=") for line in text.splitlines() for cell in line.split(","))
