import csv
import io
import math

import pytest

from pe_lab.results import formats, frame, metrics, standard_tables, summary, tables
from pe_lab.runs import record_rows, records
from tests.results import synthetic
from tests.results.fake_study import point, record, two_variants, values, write_study


def cells(table):
    """A table as lists of its texts, the header first."""
    return [list(table.header), *([c.text for c in row] for row in table.rows)]


def titled(found, title):
    (table,) = [t for t in tables.of(found) if t.title == title]
    return cells(table)


def as_dicts(found):
    return list(csv.DictReader(io.StringIO(tables.as_csv(found))))


@pytest.fixture
def found(tmp_path):
    return frame.read(two_variants(tmp_path))


def study(tmp_path, *made):
    return frame.read(write_study(tmp_path, *((point(f"e{i}", 0), r) for i, r in enumerate(made))))


def test_the_first_table_says_what_extrapolates_what_is_solved_and_what_did_not_finish(found):
    """RoPE: one seed is solved and does not extrapolate, one is not solved, one diverged; ALiBi's
    one failed run is not counted.
    """
    assert cells(tables.of(found)[0]) == [
        ["variant", "extrapolates", "solved", "4", "→8"],
        ["rope", "0/3 [0.00, 0.56]", "1/3, 1 diverged", "0.998", "0.40"],
        ["alibi", "0/1 [0.00, 0.79]", "0/2 not solved, 1 failed", "0.50", "–"],
        ["chance level (sees no prompt)", "", "", "0.20", "0.00"],
    ]


def test_every_run_with_a_record_has_a_row_of_its_own(found):
    assert titled(found, "Exact match by length, every seed") == [
        ["variant", "seed", "status", "4", "→8"],
        ["rope", "0", "finished", "1.00", "0.50"],
        ["rope", "1", "finished", "0.996", "0.30"],
        ["rope", "2", "diverged", "–", "–"],
        ["alibi", "0", "failed", "–", "–"],
        ["alibi", "1", "finished", "0.50", "–"],
    ]


def test_means_have_their_standard_deviation_and_one_seed_has_none(found):
    assert titled(found, "Exact match by length, mean ± standard deviation over seeds")[1:3] == [
        ["rope", "1/3, 1 diverged", "0.998 ± 0.00", "0.40 ± 0.14"],
        ["alibi", "0/2 not solved, 1 failed", "0.50", "–"],
    ]


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


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (1.0, "1.00"),
        (0.998, "0.998"),
        (0.995, "0.995"),
        (0.9949, "0.99"),
        (0.5, "0.50"),
        (0.0, "0.00"),
        (None, "–"),
    ],
)
def test_a_number_is_rounded_but_never_up_to_one(tmp_path, value, shown):
    assert cells(tables.of(study(tmp_path, record("r", test={4: value})))[0])[1][3] == shown


def test_a_number_is_not_rounded_up_to_one_however_near(tmp_path):
    assert float(cells(tables.of(study(tmp_path, record("r", test={4: 0.9998})))[0])[1][3]) < 1


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


def test_each_task_has_its_own_chance_level(tmp_path):
    names = ("copy", "parity")
    made = [
        record(n, test={4: 1.0}, chance_levels={4: chance_level}, task=n)
        for n, chance_level in zip(names, (0.1, 0.5), strict=True)
    ]
    found = frame.read(
        write_study(
            tmp_path, *((point("rope", 0, task=n), r) for n, r in zip(names, made, strict=True))
        )
    )
    chance_levels = [
        ["chance level of copy (sees no prompt)", "", "", "0.10"],
        ["chance level of parity (sees no prompt)", "", "", "0.50"],
    ]
    assert cells(tables.of(found)[0])[3:] == chance_levels


def test_every_offset_has_tables_of_its_own_and_extrapolation_is_counted_at_its_point(tmp_path):
    made = record(
        "r", 3, test={(4, 0): 1.0, (8, 0): 1.0, (4, 5): 0.5, (8, 5): 0.25}, validation={4: 1.0}
    )
    found = frame.read(write_study(tmp_path, (point("rope", 3), made)))
    plain, shifted = tables.of(found)[:2]
    assert (plain.title, cells(plain)[:2]) == (
        "Exact match by length, median over seeds",
        [
            ["variant", "extrapolates", "solved", "4", "→8"],
            ["rope", "1/1 [0.21, 1.00]", "1/1", "1.00", "1.00"],
        ],
    )
    assert (shifted.title, cells(shifted)[:2]) == (
        "Exact match by length, median over seeds, positions shifted by 5",
        [["variant", "solved", "4", "→8"], ["rope", "1/1", "0.50", "0.25"]],
    )


def test_token_accuracy_over_the_floor_is_worked_out_for_each_run(tmp_path):
    """Chance levels of 0.5: 0.75 is half of the way, 0.4 below it; without a chance level at 8
    there is no number.
    """
    each = [
        record(f"r{i}", i, test={4: 1.0, 8: 0.0}, tokens={4: t, 8: 0.9}, chance_levels={4: 0.1})
        for i, t in enumerate((0.75, 0.4))
    ]
    found = frame.read(write_study(tmp_path, *((point("rope", i), r) for i, r in enumerate(each))))
    assert values(found, "rope", 4, metric=metrics.CHANCE_CORRECTED) == [0.5, pytest.approx(-0.2)]
    assert cells(standard_tables.by_length(found, metrics.CHANCE_CORRECTED, "mean")) == [
        ["variant", "solved", "4", "→8"],
        ["rope", "0/2 not solved", "0.15 ± 0.49", "–"],
    ]


def test_arrows_mark_what_is_beyond_a_variants_own_training(tmp_path):
    entries = [
        (point(f"{n}", 0), record(f"r{n}", test={4: 1.0, 8: 1.0, 16: 1.0}, max_length=n))
        for n in (4, 8)
    ]
    found = frame.read(write_study(tmp_path, *entries))
    header, four, eight, _ = cells(tables.of(found)[0])
    assert header[3:] == ["4", "8", "16"]
    assert four[3:] == ["1.00", "→1.00", "→1.00"]
    assert eight[3:] == ["1.00", "1.00", "→1.00"]
    assert "training ended at 4, 8." in tables.markdown(found)


def test_a_variant_without_any_record_is_shown(tmp_path):
    found = frame.read(
        write_study(
            tmp_path, (point("rope", 0), record("r", test={4: 1.0})), (point("alibi", 0), "a")
        )
    )
    assert cells(tables.of(found)[0])[2] == ["alibi", "–", "0/0", "–"]


def test_pages_are_written_and_the_first_table_is_returned(found, tmp_path):
    assert tables.write(found, tmp_path) == formats.markdown(tables.of(found)[0])
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == tables.markdown(found)
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == tables.as_csv(found)
    assert (tmp_path / "table.tex").read_text(encoding="utf-8") == tables.latex(found)


def test_a_study_of_which_nothing_has_finished_says_so(tmp_path):
    found = frame.read(write_study(tmp_path, (point("rope", 0), "r")))
    assert tables.write(found, tmp_path) == "no run has finished yet: 1 run has no record"
    assert (tmp_path / "table.md").read_text(
        encoding="utf-8"
    ) == "# fake\n\nNo run has finished yet: 1 run has no record.\n"
    assert as_dicts(found) == []


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_runs_that_ended_badly_are_shown_also_where_none_has_finished(tmp_path, status):
    assert status in tables.markdown(study(tmp_path, record("r", status=status)))


def test_a_study_of_text_shows_bits_first_of_whole_windows_and_of_their_second_halves(tmp_path):
    """Nats of four places: ln 2 times 4, 4, 2 and 1, so 11 / 4 bits of all and 3 / 2 of the last
    two.
    """
    made = record("r", test={4: 0.0}, validation={4: 0.0})
    nats = [math.log(2) * bits for bits in (4, 4, 2, 1)]
    for metric, value in (
        ("negative_log_likelihood", sum(nats) / 4),
        ("negative_log_likelihood_by_place", nats),
    ):
        made["rows"].append(record_rows.row("test", 4, 0, metric, value, 100))
    found = frame.read(write_study(tmp_path, (point("rope", 0), made)))
    first = tables.of(found)[0]
    assert (first.title, cells(first)) == (
        "Bits per token by length, median over seeds",
        [["variant", "solved", "4"], ["rope", "–", "2.75"]],
    )
    second = titled(
        found,
        "Bits per token, second half of each window by length, "
        "mean ± standard deviation over seeds",
    )
    assert second[1] == ["rope", "–", "1.50"]
    assert [row["metric"] for row in as_dicts(found)][:2] == [metrics.BITS, metrics.BITS_SLIDING]


@pytest.mark.parametrize("seeds", [1, 3, 5, 10])
@pytest.mark.parametrize("value", [0.0, 1.0, 0.5])
def test_seeds_that_are_all_equal_give_no_warning_and_no_nan(tmp_path, seeds, value):
    """Warnings are errors in tests."""
    runs = [
        (point(e, i), record(f"{e}{i}", i, test={4: value, 8: value}, validation={4: value}))
        for e in "ab"
        for i in range(seeds)
    ]
    folder = write_study(tmp_path, *runs, analysis={"contrasts": [["a", "b"]]})
    for text in (
        tables.markdown(frame.read(folder)),
        tables.as_csv(frame.read(folder)),
        tables.latex(frame.read(folder)),
    ):
        assert "nan" not in text.lower()
        assert "inf" not in text.lower().replace("infinit", "")


@pytest.mark.slow
def test_a_large_study_with_all_that_may_go_wrong_has_no_nan_in_any_table(tmp_path):
    """Failed, diverged and missing runs, ends of tables, logits that are not finite, tuned
    rates.
    """
    asked = {
        "tuned": ["train.learning_rate"],
        "contrasts": [["rope", "alibi"], ["contiguous", "shifted"], ["nope", "learned"]],
        "oracle": "a paper",
        "tables": [
            {
                "measures": [
                    "extrapolates",
                    "auc",
                    "L90",
                    "retention",
                    {"name": "exact_match", "at": 3, "show": "best"},
                ]
            }
        ],
    }
    found = frame.read(synthetic.write(tmp_path, seeds=3, analysis=asked, missing=(0, 7, 100)))
    for table in tables.of(found):
        for text in (c.text for row in table.rows for c in row):
            assert text == "" or not {"nan", "inf", "none"} & set(
                text.lower().replace("[", " ").replace(",", " ").split()
            )


@pytest.mark.slow
def test_tables_do_not_depend_on_the_speed_of_the_machine(tmp_path):
    """The same runs, trained ten times as slowly."""
    pages = []
    for name, factor in (("fast", 1.0), ("slow", 10.0)):
        folder = tmp_path / name / "study"
        synthetic.write(
            folder, encodings=("rope", "alibi"), tasks=("copy",), schemes=("contiguous",)
        )
        for made in records.read_all(folder).values():
            cost = made["cost"]
            slower = {key: cost[key] * factor for key in ("train_seconds", "compile_seconds")}
            records.write(folder, made | {"cost": cost | slower})
        loaded = frame.read(folder)
        pages.append((tables.markdown(loaded), tables.as_csv(loaded), tables.latex(loaded)))
    assert pages[0] == pages[1]
    assert "seconds" not in pages[0][0]


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


def test_the_numbers_are_read_as_often_for_any_number_of_variants(tmp_path, monkeypatch):
    """A pass over all numbers for each variant would be quadratic for a large study."""
    values_at = summary.values_at
    reads = []

    def counted(*arguments):
        reads.append(arguments)
        return values_at(*arguments)

    monkeypatch.setattr(summary, "values_at", counted)
    counts = []
    for number in (2, 5):
        entries = []
        for i in range(number):
            made = record(f"r{i}", test={4: 1.0, 8: 0.5}, validation={4: 1.0})
            entries.append((point(f"mine_{i}", 0), made))
        folder = write_study(tmp_path / str(number), *entries)
        tables.write(frame.read(folder), folder)
        counts.append(len(reads))
        reads.clear()
    assert counts[0] == counts[1] > 0
