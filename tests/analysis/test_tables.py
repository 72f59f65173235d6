import csv
import io
import math

import pytest

from pe_lab import records
from pe_lab.analysis import metrics, results, tables
from tests.analysis.fake_study import point, record, two_variants, write_study

CORRECTED = metrics.FLOOR_CORRECTED
OVER_FLOOR = "Token accuracy over the floor, mean over seeds"


def cells(table):
    """A Markdown table as lists of its cells, the rule below its header left out."""
    rows = [[c.strip() for c in line.strip("|").split("|")] for line in table.splitlines()]
    assert set(rows.pop(1)) == {"-" * n for n in map(len, table.splitlines()[1].strip("|").split("|"))}
    return rows


def sections(page):
    """The tables of a page by heading."""
    return {part.partition("\n")[0]: cells(part.partition("\n\n")[2].strip()) for part in page.split("## ")[1:]}


@pytest.fixture
def found(tmp_path):
    return results.load(two_variants(tmp_path))


def test_the_table_of_means_says_what_was_learnt_and_what_did_not_finish(found):
    assert cells(tables.means(found, 0)) == [
        ["variant", "learnt", "4", "→8"],
        ["rope", "1/3, 1 diverged", "0.998", "0.40"],
        ["alibi", "0/2 not learnt, 1 failed", "0.50", "–"],
        ["floor (sees no prompt)", "", "0.20", "0.00"],
    ]


def test_every_run_with_a_record_has_a_row_of_its_own(found):
    assert cells(tables.seeds(found, 0)) == [
        ["variant", "seed", "status", "4", "→8"],
        ["rope", "0", "finished", "1.00", "0.50"],
        ["rope", "1", "finished", "0.996", "0.30"],
        ["rope", "2", "diverged", "–", "–"],
        ["alibi", "0", "failed", "–", "–"],
        ["alibi", "1", "finished", "0.50", "–"],
    ]


def test_the_csv_holds_the_means_and_every_run_in_full(found):
    assert list(csv.reader(io.StringIO(tables.as_csv(found)))) == [
        ["variant", "offset", "metric", "runs", "finished", "learnt", "target_length_known",
         "4 mean", "4 run 0", "4 run 1", "4 run 2", "8 mean", "8 run 0", "8 run 1", "8 run 2"],
        ["rope", "0", "exact_match", "3", "2", "1", "False", "0.998", "1.0", "0.996", "", "0.4", "0.5", "0.3", ""],
        ["alibi", "0", "exact_match", "2", "1", "0", "False", "0.5", "", "0.5", "", "", "", "", ""],
        ["rope", "0", CORRECTED, "3", "2", "1", "False", *[""] * 8],
        ["alibi", "0", CORRECTED, "2", "1", "0", "False", *[""] * 8],
    ]  # fmt: skip


def test_columns_line_up_as_text(tmp_path):
    found = results.load(
        write_study(tmp_path, (point("rope", 0), record("r", test={4: 1.0, 16: 0.25}, validation={4: 1.0}, floors={4: 0.5})))
    )
    assert tables.means(found, 0) == (
        "| variant                | learnt | 4    | →16  |\n"
        "|------------------------|--------|------|------|\n"
        "| rope                   | 1/1    | 1.00 | 0.25 |\n"
        "| floor (sees no prompt) |        | 0.50 | –    |"
    )


@pytest.mark.parametrize(
    ("value", "shown"), [(1.0, "1.00"), (0.998, "0.998"), (0.995, "0.995"), (0.9949, "0.99"), (0.5, "0.50"), (0.0, "0.00"), (None, "–")]
)
def test_a_number_is_rounded_but_never_up_to_one(tmp_path, value, shown):
    found = results.load(write_study(tmp_path, (point("rope", 0), record("r", test={4: value}))))
    assert cells(tables.means(found, 0))[1] == ["rope", "0/1 not learnt", shown]


def test_a_number_is_not_rounded_up_to_one_however_near(tmp_path):
    found = results.load(write_study(tmp_path, (point("rope", 0), record("r", test={4: 0.9998}))))
    assert float(cells(tables.means(found, 0))[1][2]) < 1


def test_the_page_explains_itself_and_counts_runs_without_a_record(tmp_path):
    found = results.load(write_study(two_variants(tmp_path), (point("rope", 0), "r0"), (point("rope", 3), "r3"), (point("rope", 4), "r4")))
    page = tables.markdown(found)
    assert page.startswith("# fake: exact match by length\n\n- Lengths are in symbols; training ended at 4. ")
    assert "- 2 runs have no record yet.\n" in page
    assert "†" not in page
    assert list(sections(page)) == ["Mean over seeds", "Every seed", OVER_FLOOR]


def test_a_complete_study_says_nothing_of_missing_records(tmp_path):
    page = tables.markdown(results.load(write_study(tmp_path, (point("rope", 0), record("r", test={4: 1.0})))))
    assert "no record yet" not in page


def test_what_knows_the_targets_length_carries_a_dagger_that_is_explained(tmp_path):
    entries = [(point(n, 0), record(n, test={4: 1.0}, validation={4: 1.0}, told=n == "rope")) for n in ("rope", "alibi")]
    found = results.load(write_study(tmp_path, *entries))
    assert [row[0] for row in cells(tables.means(found, 0))[1:3]] == ["rope †", "alibi"]
    told = "- †: the model is told how long the answer is, by its positions or its layout; not to be ranked with the others."
    assert told in tables.markdown(found)
    assert [row[6] for row in csv.reader(io.StringIO(tables.as_csv(found)))] == ["target_length_known", *["True", "False"] * 2]


def test_each_task_of_a_study_has_a_floor_of_its_own(tmp_path):
    names = ("copy", "parity")
    made = [record(n, test={4: 1.0}, floors={4: floor}, task=n) for n, floor in zip(names, (0.1, 0.5), strict=True)]
    found = results.load(write_study(tmp_path, *((point("rope", 0, task=n), r) for n, r in zip(names, made, strict=True))))
    floors = [["floor of copy (sees no prompt)", "", "0.10"], ["floor of parity (sees no prompt)", "", "0.50"]]
    assert cells(tables.means(found, 0))[3:] == floors


def test_every_offset_has_tables_of_its_own(tmp_path):
    made = record("r", 3, test={(4, 0): 1.0, (4, 5): 0.5, (8, 5): 0.25}, validation={4: 1.0})
    found = results.load(write_study(tmp_path, (point("rope", 3), made)))
    floor = ["floor (sees no prompt)", "", "–", "–"]
    assert sections(tables.markdown(found)) == {
        "Mean over seeds": [["variant", "learnt", "4", "→8"], ["rope", "1/1", "1.00", "–"], floor],
        "Every seed": [["variant", "seed", "status", "4", "→8"], ["rope", "3", "finished", "1.00", "–"]],
        OVER_FLOOR: [["variant", "learnt", "4", "→8"], ["rope", "1/1", "–", "–"]],
        "Mean over seeds, positions shifted by 5": [["variant", "learnt", "4", "→8"], ["rope", "1/1", "0.50", "0.25"], floor],
        "Every seed, positions shifted by 5": [["variant", "seed", "status", "4", "→8"], ["rope", "3", "finished", "0.50", "0.25"]],
        f"{OVER_FLOOR}, positions shifted by 5": [["variant", "learnt", "4", "→8"], ["rope", "1/1", "–", "–"]],
    }
    assert list(csv.reader(io.StringIO(tables.as_csv(found))))[1:] == [
        ["rope", "0", "exact_match", "1", "1", "1", "False", "1.0", "1.0", "", ""],
        ["rope", "0", CORRECTED, "1", "1", "1", "False", *[""] * 4],
        ["rope", "5", "exact_match", "1", "1", "1", "False", "0.5", "0.5", "0.25", "0.25"],
        ["rope", "5", CORRECTED, "1", "1", "1", "False", *[""] * 4],
    ]


def test_token_accuracy_over_the_floor_is_worked_out_for_each_run(tmp_path):
    """Floors of 0.5: 0.75 is half of the way, 0.4 below it; without a floor at 8 there is no number."""
    each = [record(f"r{i}", i, test={4: 1.0, 8: 0.0}, tokens={4: t, 8: 0.9}, floors={4: 0.1}) for i, t in enumerate((0.75, 0.4))]
    found = results.load(write_study(tmp_path, *((point("rope", i), r) for i, r in enumerate(each))))
    assert found.variants[0].values(4, 0, CORRECTED) == [0.5, pytest.approx(-0.2)]
    assert cells(tables.means(found, 0, CORRECTED)) == [["variant", "learnt", "4", "→8"], ["rope", "0/2 not learnt", "0.15", "–"]]


def test_arrows_mark_what_is_beyond_a_variants_own_training(tmp_path):
    entries = [(point(f"{n}", 0), record(f"r{n}", test={4: 1.0, 8: 1.0, 16: 1.0}, max_length=n)) for n in (4, 8)]
    found = results.load(write_study(tmp_path, *entries))
    header, four, eight, _ = cells(tables.means(found, 0))
    assert header[2:] == ["4", "8", "16"]
    assert four[2:] == ["1.00", "→1.00", "→1.00"]
    assert eight[2:] == ["1.00", "1.00", "→1.00"]
    assert "training ended at 4, 8." in tables.markdown(found)


def test_a_variant_without_any_record_is_shown(tmp_path):
    found = results.load(write_study(tmp_path, (point("rope", 0), record("r", test={4: 1.0})), (point("alibi", 0), "a")))
    assert cells(tables.means(found, 0))[2] == ["alibi", "0/0", "–"]


def test_pages_are_written_and_the_first_table_is_returned(found, tmp_path):
    assert tables.write(found, tmp_path) == tables.means(found, 0)
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == tables.markdown(found)
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == tables.as_csv(found)


def test_a_study_of_which_nothing_has_finished_says_so(tmp_path):
    found = results.load(write_study(tmp_path, (point("rope", 0), "r")))
    assert tables.write(found, tmp_path) == "no run has finished yet: 1 run has no record"
    assert (tmp_path / "table.md").read_text(encoding="utf-8") == "# fake\n\nNo run has finished yet: 1 run has no record.\n"
    assert (tmp_path / "table.csv").read_text(encoding="utf-8") == "variant,offset,metric,runs,finished,learnt,target_length_known\n"


@pytest.mark.parametrize("status", ["diverged", "failed"])
def test_runs_that_ended_badly_are_shown_also_where_none_has_finished(tmp_path, status):
    found = results.load(write_study(tmp_path, (point("rope", 0), record("r", status=status))))
    assert status in tables.markdown(found)


def test_a_study_of_text_shows_bits_first_of_whole_windows_and_of_their_second_halves(tmp_path):
    """Nats of four places: ln 2 times 4, 4, 2 and 1, so 11 / 4 bits of all and 3 / 2 of the last two."""
    made = record("r", test={4: 0.0}, validation={4: 0.0})
    nats = [math.log(2) * bits for bits in (4, 4, 2, 1)]
    for metric, value in (("negative_log_likelihood", sum(nats) / 4), ("negative_log_likelihood_by_place", nats)):
        made["rows"].append(records.row("test", 4, 0, metric, value, 100))
    found = results.load(write_study(tmp_path, (point("rope", 0), made)))
    page = sections(tables.markdown(found))
    assert list(page)[:2] == ["Bits a token of text, mean over seeds", "Bits a token, second half of each window, mean over seeds"]
    assert [table[1:] for table in list(page.values())[:2]] == [[["rope", "0/1 not learnt", "2.75"]], [["rope", "0/1 not learnt", "1.50"]]]
    assert "2.75" in tables.write(found, tmp_path)
    assert [row[2] for row in csv.reader(io.StringIO(tables.as_csv(found)))][1:3] == [metrics.BITS, metrics.BITS_SLIDING]
