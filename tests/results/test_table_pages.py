"""A page explains the tables of a study, and a CSV file holds all their numbers."""

import pytest

from pe_lab.results import formats, frame, tables
from tests.results import synthetic
from tests.results.fake_study import point, record, two_variants, write_study
from tests.results.table_cells import as_dicts, cells, study


@pytest.fixture
def found(tmp_path):
    return frame.read(two_variants(tmp_path))


def test_the_csv_holds_every_number_of_every_run_in_full(found):
    rows = [row for row in as_dicts(found) if row["metric"] == "exact_match"]
    assert [
        (r["variant"], r["length"], r["mean"], r["median"], r["run 0"], r["run 1"], r["run 2"])
        for r in rows
    ] == [
        ("rope", "4", "0.998", "0.998", "1.0", "0.996", ""),
        ("rope", "8", "0.4", "0.4", "0.5", "0.3", ""),
        ("alibi", "4", "0.5", "0.5", "", "0.5", ""),
    ]
    assert [
        rows[0][k]
        for k in (
            "runs",
            "finished",
            "solved",
            "extrapolates",
            "known_outcomes",
            "reveals_target_length",
        )
    ] == [
        "3",
        "2",
        "1",
        "0",
        "3",
        "False",
    ]


def test_the_csv_has_the_axes_of_the_sweep_and_says_what_was_chosen(tmp_path):
    folder = synthetic.write(
        tmp_path,
        tasks=(),
        schemes=(),
        encodings=("rope",),
        seeds=2,
        analysis={"tuned": ["train.learning_rate"]},
    )
    rows = {(r["train.learning_rate"], r["chosen"]) for r in as_dicts(frame.read(folder))}
    assert rows == {("0.001", "False"), ("0.003", "True"), ("0.01", "False")}


def test_the_page_explains_itself_and_counts_runs_without_a_record(tmp_path):
    found = frame.read(
        write_study(
            two_variants(tmp_path),
            (point("rope", 0), "r0"),
            (point("rope", 3), "r3"),
            (point("rope", 4), "r4"),
        )
    )
    page = tables.markdown(found)
    assert page.startswith(
        "# fake: exact match by length\n\n"
        "- 1 variant, 1 run each, 1 in all; lengths are in symbols, training ended at 4."
    )
    assert "2 runs have no record yet.\n" in page
    assert "†" not in page


def test_the_question_of_a_study_stands_on_its_page(tmp_path):
    folder = synthetic.write(
        tmp_path,
        tasks=(),
        schemes=(),
        rates=(),
        encodings=("rope",),
        analysis={"question": "Why so long?"},
    )
    assert "\n\nWhy so long?\n\n" in tables.markdown(frame.read(folder))


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
    entries = [
        (point(n, 0), record(n, test={4: 1.0}, validation={4: 1.0}, reveals=n == "rope"))
        for n in ("rope", "alibi")
    ]
    found = frame.read(write_study(tmp_path, *entries))
    assert [row[0] for row in cells(tables.of(found)[0])[1:3]] == ["rope †", "alibi"]
    told = (
        "- †: reveals the target length to the model, by its positions or its layout; "
        "not to be ranked with the others."
    )
    assert told in tables.markdown(found)
    assert {(r["variant"], r["reveals_target_length"]) for r in as_dicts(found)} == {
        ("rope", "True"),
        ("alibi", "False"),
    }


def test_pages_are_written_and_the_first_table_is_returned(found, tmp_path):
    assert tables.write(found, tmp_path) == formats.markdown(tables.of(found)[0])
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == tables.markdown(found)
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == tables.as_csv(found)
    assert (tmp_path / "table.tex").read_text(encoding="utf-8") == tables.latex(found)


def test_no_label_question_or_error_is_markup_or_a_formula(tmp_path):
    label = "<img src=x onerror=alert(1)> [a](javascript:alert(1))"
    folder = write_study(
        tmp_path,
        (point(label, 0), record("r0", test={4: 1.0, 8: 0.5}, validation={4: 1.0})),
        (point("=HYPERLINK(1)", 0), record("r1", test={4: 1.0, 8: 0.2}, validation={4: 1.0})),
        analysis={"question": label, "contrasts": [[label, "=HYPERLINK(1)"]]},
    )
    tables.write(frame.read(folder), folder)
    page = (folder / "table.md").read_text()
    assert page.count("&lt;img src=x") > 3
    assert "<img" not in page
    assert "](" not in page
    text = (folder / "table.csv").read_text()
    assert "'=HYPERLINK(1)," in text
    assert not any(cell.startswith("=") for line in text.splitlines() for cell in line.split(","))
